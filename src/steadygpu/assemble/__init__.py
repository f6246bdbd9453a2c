"""Many readings, one host: groups by host, joins the names of a device, keeps disagreements."""

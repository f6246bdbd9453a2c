"""What people give: files and folders, as texts."""

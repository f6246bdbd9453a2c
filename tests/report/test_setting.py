"""What the host is, as each form of the report tells it."""

from pipeline import report
from steadygpu.report.as_json import report_dict
from steadygpu.report.plain import render_plain
from steadygpu.report.terminal import render_terminal

LSCPU = "Architecture: x86_64\nCPU(s): 8\nHypervisor vendor: KVM\nVirtualization type: full\nNUMA node(s): 1\n"


def test_the_setting_is_told_where_a_text_tells_it() -> None:
    guest = report({"lscpu.txt": LSCPU.encode()})
    assert report_dict(guest)["hosts"][0]["setting"] == "vm"
    assert "\n  a virtual machine (KVM)\n" in render_terminal(guest)
    assert "setting: a virtual machine (KVM)\n" in render_plain(guest)
    open_ = report({"lscpu.txt": LSCPU.replace("Hypervisor vendor: KVM\n", "").encode()})
    assert report_dict(open_)["hosts"][0]["setting"] is None
    assert "setting:" not in render_plain(open_)

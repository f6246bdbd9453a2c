import json

import pytest

from pipeline import evidence, report
from steadygpu.evidence.gpu import CardListing

LOG = (
    "[    5.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15\n"
    "[ 1234.500000] NVRM: Xid (PCI:0000:3b:00): 79, pid=77, name=a&b, GPU has fallen off the bus.\n"
)
LIST = "GPU 0: NVIDIA A40 (UUID: GPU-{0:08d}-0000-0000-0000-000000000000)\n"
MESSAGE = "Failed to initialize NVML: Driver/library version mismatch\n"


def ids(text: str) -> set[str]:
    return {f.rule.id for host in report({"p.txt": text}).hosts for f in host.findings}


def prefixed(before: str, text: str = LOG) -> str:
    return "".join(f"{before}{line}\n" for line in text.rstrip("\n").split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        prefixed("> "),
        prefixed("> > "),
        prefixed("    "),
        prefixed("\t"),
        prefixed("2026-02-03T04:05:06.789012345+01:00 stdout F "),
        prefixed("2026-02-03T04:05:06.789012345Z "),
        prefixed("[pod/train-0/main] "),
        prefixed("trainer-1  | "),
        prefixed("/var/log/kern.log:"),
        "".join(f"{n}:{line}\n" for n, line in enumerate(LOG.rstrip("\n").split("\n"), 1233)),
        "".join(json.dumps({"log": f"{ln}\n", "stream": "stdout"}) + "\n" for ln in LOG.rstrip().split("\n")),
        "<pre>" + LOG.replace("&", "&amp;") + "</pre>\n",
        LOG.replace(" ", "&nbsp;"),
        "```text\n" + LOG + "```\n",
    ],
)  # fmt: skip
def test_what_stands_before_lines_hides_nothing(text: str) -> None:
    assert "silent.xid79-fallen-off-bus" in ids(text)
    (host,) = report({"p.txt": text}).hosts
    (lost,) = [f for f in host.findings if f.rule.id == "silent.xid79-fallen-off-bus"]
    for source in lost.finding.sources:
        assert source.quote in text.split("\n")[source.first - 1]
    assert host.host is None


def test_what_grep_kept_is_not_the_whole_log() -> None:
    text = "".join(
        f"{n}:{ln}\n"
        for n, ln in enumerate(["[    0.000000] Linux version 6.1.0", *LOG.split("\n")])
        if ln
    )
    (host,) = evidence({"p.txt": text})
    assert not host.facts[0].whole if hasattr(host.facts[0], "whole") else True
    assert not any(getattr(f, "whole", None) for f in host.facts)


def test_hosts_that_begin_late_are_hosts_too_and_are_named_where_they_begin() -> None:
    text = "".join(
        prefixed(f"gpu0{n}: ", LIST.format(n) * 40) for n in range(1, 3)
    ) + prefixed("gpu03: ", MESSAGE)  # fmt: skip
    hosts = {h.host: h for h in report({"p.txt": text}).hosts}
    assert set(hosts) == {"gpu01", "gpu02", "gpu03"}
    assert "stack.driver-library-mismatch" in {f.rule.id for f in hosts["gpu03"].findings}
    assert hosts["gpu03"].host_from.first == 81


@pytest.mark.parametrize(
    "form",
    [
        "gpu0{0} | CHANGED | rc=0 >>\n{1}",
        "----------------\ngpu0{0}\n----------------\n{1}",
        "== gpu0{0}\n{1}",
        "=== gpu0{0} ===\n{1}",
        "ops@gpu0{0}:~$ nvidia-smi -L\n{1}",
        "Every 2.0s: nvidia-smi -L            gpu0{0}: Tue Feb  3 04:05:06 2026\n\n{1}",
    ],
)
def test_headings_that_name_a_host_part_the_text(form: str) -> None:
    text = "".join(form.format(n, LIST.format(n)) for n in (1, 2))
    hosts = evidence({"p.txt": text})
    assert [h.host for h in hosts] == ["gpu01", "gpu02"]
    assert not any(h.gaps for h in hosts)


def test_headings_that_name_no_host_part_nothing() -> None:
    text = f"== GPU 0\n{LIST.format(1)}\n=== test 1 ===\n{MESSAGE}"
    assert len(evidence({"p.txt": text})) == 1


def test_the_inner_part_of_q_keeps_its_indent() -> None:
    text = "    ECC Mode\n        Current                           : Disabled\n        Pending                           : Disabled\n"
    (host,) = evidence({"p.txt": text})
    assert any(getattr(f, "ecc_on", None) is False for f in host.facts)


@pytest.mark.parametrize(
    ("command", "container", "complete"),
    [
        ("nvidia-smi -L", False, True),
        ("docker run --rm --gpus device=0 cuda nvidia-smi -L", True, True),
        ("kubectl exec -it train-0 -- nvidia-smi -L", True, True),
        ("nvidia-smi -i 0 -L", False, False),
        ("nvidia-smi -L | head -1", False, False),
    ],
)
def test_the_command_tells_a_container_and_a_choice_of_cards(
    command: str, container: bool, complete: bool
) -> None:
    (host,) = evidence({"p.txt": f"$ {command}\n{LIST.format(1)}"})
    (listing,) = [f for f in host.facts if isinstance(f, CardListing)]
    assert (listing.container, listing.complete) == (container, complete)


def test_prompts_of_other_shells_are_prompts() -> None:
    for prompt in ("➜  ~ ", "C:\\Users\\me>", "PS C:\\> "):
        (host,) = evidence({"p.txt": f"{prompt}nvidia-smi -L\n{LIST.format(1)}{prompt}\n"})
        assert not host.gaps, prompt

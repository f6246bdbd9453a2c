"""Whether the clock of the processors waits for load before it rises."""

from collections.abc import Iterator

from steadygpu.evidence.cpu import CpuFrequency
from steadygpu.verdict.rule import Finding, Fine, Mine, Seen, Unclear, cite, rule, the_host

# Linux, Documentation/admin-guide/pm/{intel_pstate,amd-pstate}.rst: with these drivers the hardware chooses the clock
# and "powersave" is only their name for it; their passive modes call themselves intel_cpufreq and amd-pstate.
CHOOSES_ITSELF = frozenset({"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"})
# Linux, Documentation/admin-guide/pm/cpufreq.rst: powersave holds the lowest clock, the others sample the load.
SLOW = frozenset({"powersave", "ondemand", "conservative"})
SWIFT = frozenset({"performance", "schedutil"})
ASK = "grep . /sys/devices/system/cpu/cpu*/cpufreq/scaling_{driver,governor}"


@rule(
    id="feed.cpu-governor",
    title="The clock of the processors rises late or not at all",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="cpu",
    meaning="Short bursts of work, such as launches and copies, run at a low clock: their time jitters and grows.",
    decision="Set the governor performance for the run before you measure or buy.",
    next_step="sudo cpupower frequency-set -g performance",
    references=(
        "Linux, Documentation/admin-guide/pm/cpufreq.rst",
        "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
    ),
)
def cpu_governor(processors: Mine[CpuFrequency]) -> Iterator[Seen]:
    """One word means two things: powersave is slow under acpi-cpufreq and normal where the hardware chooses."""
    last = {one.cpu: one for one in processors}
    host = the_host(processors[0])
    slow = [one for one in last.values() if _is_slow(one)]
    unknown = [one for one in last.values() if _is_slow(one) is None]
    if slow:
        yield _told(slow, len(last))
    elif unknown:
        one = unknown[0]
        why = "who chooses the clock was not printed"
        if one.governor is not None:
            why = f"governor {one.governor}: what it means depends on the driver or on who set the clock"
        yield Unclear(subject=host, why=why, ask=ASK)
    else:
        names = sorted({one.governor or "" for one in last.values()})
        because = f"governor {', '.join(names)}"
        if names == ["powersave"]:
            because += ", and the hardware chooses the clock"
        sources = tuple(
            dict.fromkeys(s for one in last.values() for s in cite(one, "governor", "driver"))
        )
        yield Fine(subject=host, because=because, sources=sources)


def _is_slow(one: CpuFrequency) -> bool | None:
    """Return whether the clock rises late; None where that cannot be told."""
    if one.governor is None:
        return None
    if one.driver in CHOOSES_ITSELF:
        return False
    if one.governor == "powersave" and one.driver is None:
        return None
    return True if one.governor in SLOW else False if one.governor in SWIFT else None


def _told(slow: list[CpuFrequency], count: int) -> Finding:
    names = sorted(
        {f"{one.governor} ({one.driver})" if one.driver else str(one.governor) for one in slow}
    )
    says = f"governor {', '.join(names)} on {len(slow)} of {count} processors shown"
    now = [one.current_mhz for one in slow if one.current_mhz is not None]
    if now:
        says += (
            f", at {min(now):.0f} MHz"
            if min(now) == max(now)
            else f", at {min(now):.0f} to {max(now):.0f} MHz"
        )
    sources = tuple(
        dict.fromkeys(s for one in slow for s in cite(one, "governor", "driver", "current_mhz"))
    )
    return Finding(
        subject=the_host(slow[0]), says=says, sources=sources, first=slow[0].at, last=slow[-1].at
    )

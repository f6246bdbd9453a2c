"""The records of an answer: what a report shows."""

from dataclasses import dataclass, field

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.source import Gap, Source
from steadygpu.verdict.rule import Finding, Rule, Unclear

CORE = ("cards", "kernel_log", "throttle", "ecc", "versions")
BOTTLENECKS = (
    "hardware", "stack", "throttle", "storage", "small-files", "cpu", "numa", "pcie", "network", "launch",
    "memory-bandwidth", "compute", "idle", "undecided",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """A finding with its rule, its key, and its place among causes.

    `severity` and `action` are final. `caused_by` is the key of the finding that explains this one.
    """

    key: str
    rule: Rule
    finding: Finding
    severity: str
    action: str
    caused_by: str | None = None
    consequences: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Return what is true: the finding's own words, else the rule's."""
        return self.finding.meaning or self.rule.meaning

    @property
    def decision(self) -> str:
        """Return what to do: the finding's own words, else the rule's."""
        return self.finding.decision or self.rule.decision

    @property
    def next_step(self) -> str:
        """Return the next step: the finding's own words, else the rule's."""
        return self.finding.next_step or self.rule.next_step


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a rule could not judge."""

    rule: Rule
    unclear: Unclear


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledOut:
    """A bottleneck that the evidence excludes, and the line that does."""

    kind: str
    because: str
    source: Source | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """What sets the pace. `kind` is one of BOTTLENECKS, `confidence` high, medium or low.

    `because` holds rule ids; `ask` is the one thing to run where it is undecided.
    """

    kind: str
    confidence: str
    because: tuple[str, ...] = ()
    ask: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One cause and the findings it explains (keys); `order_known`: times prove the order."""

    cause: str
    consequences: tuple[str, ...]
    order_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many rules were judged, had no subject, were not asked, could not tell, or broke."""

    kinds_read: tuple[str, ...] = ()
    judged: int = 0
    not_here: int = 0
    not_asked: int = 0
    unknown: int = 0
    broken: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is said of one host. `core` tells which of the five core questions were answered."""

    health: str
    core: dict[str, bool]
    bottleneck: Bottleneck
    ruled_out: tuple[RuledOut, ...]
    incidents: tuple[Incident, ...]
    decision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAnswer:
    """One host of a report: its name, when it was seen, the answer and all that supports it.

    `findings` are ordered: worst first, causes before their consequences. `broken` holds rule ids
    with the exception. `setting` is what the texts say the host is.
    """

    host: str | None
    host_from: Source | None
    taken: Moment
    devices: tuple[DeviceRef, ...]
    answer: Answer
    findings: tuple[Ruled, ...]
    unclear: tuple[Open, ...]
    gaps: tuple[Gap, ...]
    coverage: Coverage
    broken: tuple[tuple[str, str], ...] = ()
    setting: Setting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answers for all hosts, and what only shows between hosts."""

    version: str
    catalog: str
    hosts: tuple[HostAnswer, ...]
    between_findings: tuple[Ruled, ...] = ()
    between_unclear: tuple[Open, ...] = ()
    summary: dict[str, int] = field(default_factory=dict)

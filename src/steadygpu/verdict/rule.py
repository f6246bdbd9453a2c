"""What a rule is, what it may ask for, and what it may say."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Source

Severity = Literal["info", "warning", "critical"]
Action = Literal[
    "drain",
    "reset-gpu",
    "reboot",
    "restart-job",
    "fix-config",
    "fix-feed",
    "fix-build",
    "watch",
    "none",
]
Scope = Literal["gpu", "host", "job", "container", "image", "fabric"]
Outcome = Literal["pass", "fail", "n/a", "not asked", "unknown", "broken"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
ACTIONS: tuple[Action, ...] = (
    "none", "watch", "fix-build", "fix-feed", "fix-config", "restart-job", "reset-gpu", "reboot", "drain",
)  # fmt: skip


class Stage(StrEnum):
    """The five stages of the playbook, in the order in which they are asked."""

    SILENT = "silent"
    STACK = "stack"
    THROTTLE = "throttle"
    FEED = "feed"
    BUSY = "busy"


T = TypeVar("T")
One = Annotated[T, "one"]  # judged for each device; a missing one is Unclear
All = Annotated[tuple[T, ...], "all"]  # every record of the host, may be empty
Mine = Annotated[
    tuple[T, ...], "mine"
]  # every record of the first parameter's device, may be empty
Log = Annotated[tuple[T, ...], "log"]  # a device's events in order; see `Whole`
Trend = Annotated[tuple[T, ...], "trend"]  # a device's records at known moments, in order
Maybe = Annotated[T | None, "maybe"]  # the first parameter's device's record, or None
Whole = Annotated[bool, "whole"]  # whether the log of this boot was given whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Fine:
    """The rule had what it needs and it is not so. `because` and `sources` prove it where given."""

    subject: DeviceRef
    because: str = ""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHere:
    """The question does not exist for this subject: the device has no such thing."""

    subject: DeviceRef
    because: str
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """The evidence cannot tell. `ask` is what to run or paste to close it.

    Where only the record is known that would tell, `record` is its class, and the judge finds the command.
    """

    subject: DeviceRef
    why: str
    ask: str | None = None
    record: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """It is so. `says` holds the numbers; `sources` the lines that prove it.

    `severity` and `action` may lower the rule's defaults, never raise them; what is lowered, or says
    which of many things it is, brings its own `meaning`, `decision` and `next_step`. `touches` are other
    devices that the same event involves (the port above a card).
    """

    subject: DeviceRef
    says: str
    sources: tuple[Source, ...]
    severity: Severity | None = None
    action: Action | None = None
    first: Moment = UNKNOWN
    last: Moment = UNKNOWN
    count: int = 1
    touches: tuple[DeviceRef, ...] = ()
    meaning: str | None = None
    decision: str | None = None
    next_step: str | None = None


Seen = Fine | NotHere | Unclear | Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One parameter of a rule: how it is bound and the record class (None for `whole`)."""

    how: str
    record: type[Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. Texts are plain sentences; `points_to` is the bottleneck that it proves or rules out."""

    id: str
    title: str
    stage: Stage
    severity: Severity
    action: Action
    scope: Scope
    meaning: str
    decision: str
    next_step: str
    references: tuple[str, ...]
    needs: tuple[Need, ...]
    check: Callable[..., Iterator[Seen]]
    points_to: str | None = None
    rules_out: bool = False
    aliases: tuple[str, ...] = ()

    def about(self) -> frozenset[str]:
        """Return the record classes of which one must be given for the rule to be asked.

        A rule is about its first parameter; one about whole tuples is about all of these.
        """
        heads = [n for n in self.needs if n.how in ("all", "maybe")]
        if self.needs and self.needs[0].how not in ("all", "maybe"):
            heads = [self.needs[0]]
        return frozenset(n.record.__name__ for n in heads if n.record is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one rule says of one host. `error` holds the exception of a broken rule."""

    rule: Rule
    outcome: Outcome
    seen: tuple[Seen, ...] = ()
    error: str | None = None


def rule(
    *,
    id: str,  # noqa: A002 - the field is called id everywhere else
    title: str,
    severity: Severity,
    action: Action,
    meaning: str,
    decision: str,
    next_step: str,
    references: tuple[str, ...],
    scope: Scope = "gpu",
    points_to: str | None = None,
    rules_out: bool = False,
    aliases: tuple[str, ...] = (),
) -> Callable[[Callable[..., Iterator[Seen]]], Rule]:
    """Return a decorator that makes a rule of a function. The parameter types are what it needs.

    The stage is the first half of the id. `rules_out` says that a pass of this rule, with its
    sources, is enough to rule the bottleneck `points_to` out. Raises TypeError for a parameter that
    is bound to nothing, and for `One` of an event.
    """

    def make(check: Callable[..., Iterator[Seen]]) -> Rule:
        needs = tuple(
            _need(name, hint) for name, hint in check.__annotations__.items() if name != "return"
        )
        if not needs:
            raise TypeError(f"rule {id} asks for nothing")
        return Rule(
            id=id, title=title, stage=Stage(id.partition(".")[0]), severity=severity, action=action,
            scope=scope, meaning=meaning, decision=decision, next_step=next_step,
            references=references, needs=needs, check=check, points_to=points_to,
            rules_out=rules_out, aliases=aliases,
        )  # fmt: skip

    return make


def _need(name: str, hint: Any) -> Need:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"parameter {name}: use One, All, Mine, Log, Trend, Maybe or Whole")
    inner, how = get_args(hint)[:2]
    if how == "whole":
        return Need(how=how, record=None)
    record = (
        inner if how == "one" else next(a for a in get_args(inner) if a not in (..., type(None)))
    )
    if how == "one" and record.nature == "event":
        raise TypeError(f"parameter {name}: One of an event; ask for Log")
    return Need(how=how, record=record)


def lacking(record: Fact, *fields: str) -> NotHere | Unclear | None:
    """Return what to say where one of `fields` is None, or None where all are there.

    `not_supported` gives NotHere; every other reason gives Unclear with what to ask.
    """
    for field in fields:
        if getattr(record, field) is not None:
            continue
        why = next((a for a in record.absent if a.field == field), None)
        words = field.replace("_", " ")
        if why is None:
            return Unclear(
                subject=record.device, why=f"{words} was not printed", record=type(record).__name__
            )
        if why.reason == "not_supported":
            return NotHere(
                subject=record.device, because=f"{words} is not supported", source=why.source
            )
        said = {
            "not_permitted": "needs more rights", "error": "reads as an error", "cut": "was cut off",
            "disagree": "differs between two texts of one moment", "not_printed": "was not printed",
        }[why.reason]  # fmt: skip
        by = type(record).__name__ if why.reason in ("not_printed", "cut") else None
        return Unclear(subject=record.device, why=f"{words} {said}", ask=why.ask, record=by)
    return None


def cite(record: Fact, *fields: str) -> tuple[Source, ...]:
    """Return the sources that prove these fields of the record; all of them where none is tagged."""
    found = tuple(s for s in record.sources if not s.fields or any(f in s.fields for f in fields))
    return found or record.sources


def the_host(record: Fact) -> DeviceRef:
    """Return the host as subject, named as the record names it."""
    return host_ref(record.device.host)


def tell(
    record: Fact, says: str, *fields: str, also: Sequence[Source] = (),
    severity: Severity | None = None, action: Action | None = None,
    meaning: str | None = None, decision: str | None = None,
) -> Finding:  # fmt: skip
    """Return the finding on a record's device at its moment, proven by these fields and by `also`."""
    return Finding(
        subject=record.device, says=says, sources=tuple(dict.fromkeys((*cite(record, *fields), *also))),
        severity=severity, action=action, first=record.at, last=record.at, meaning=meaning, decision=decision,
    )  # fmt: skip


def fine(record: Fact, because: str, *fields: str, also: Sequence[Source] = ()) -> Fine:
    """Return that it is not so for the record's device, proven by these fields and by `also`."""
    proof = tuple(dict.fromkeys((*cite(record, *fields), *also)))
    return Fine(subject=record.device, because=because, sources=proof)

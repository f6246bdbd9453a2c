"""What DCGM says of a card: results of its diagnostic and of its health watches."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagResult:
    """The result of one test of `dcgmi diag` on one card, or on the host where none is named.

    `test` is the name in lower case without blanks (gpu_memory, targeted_stress), `category` the heading
    (deployment, integration, hardware, stress). `result` is one of pass, fail, warn, skip, not_run. `says` holds
    what the test printed beside it.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("test",)

    device: DeviceRef
    at: Moment = UNKNOWN
    test: str
    category: str | None = None
    result: str | None = None
    says: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthResult:
    """What the health watch of one part of a card says; on the host `system` is overall.

    `system` is pcie, nvlink, memory, sm, inforom, thermal, power, driver, or another name in lower case.
    `status` is healthy, warning or failure; `says` the sentences beside it.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("system",)

    device: DeviceRef
    at: Moment = UNKNOWN
    system: str
    status: str | None = None
    says: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]

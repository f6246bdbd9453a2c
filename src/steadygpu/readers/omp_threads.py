"""Reads how many OpenMP threads each process gets: the notice of torchrun, or a line of the environment.

Covers PyTorch 1.9 to 2.9 and env, printenv, export. Oddities: the notice stands between rows of stars, each line
with the time and place of the logger before it from 2.1 on; it is printed once for each launcher.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.process_log import ThreadSetting
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines

_LOGGER = re.compile(
    r"W\d{4} \d\d:\d\d:\d\d\.\d{3,9} (?:\d{1,20} ){1,2}\S{0,200}torch/distributed/run\.py:\d{1,6}\] ?"
    r"|(?:\[.{1,40}\] )?(?:WARNING:)?torch\.distributed\.run:(?: \[WARNING\])? ?|WARNING:__main__: ?"
)
_NOTICE = re.compile(
    r"Setting OMP_NUM_THREADS environment variable for each process to be (?P<threads>\d{1,5}) in default\b"
)
_STARS = re.compile(r"\*{10,80}\s*$")
_SET = re.compile(
    r"(?:export |declare -x )?OMP_NUM_THREADS=(?P<quote>[\"']?)(?P<threads>\d{1,5})(?P=quote);?\s*$"
)


def read_omp_threads(lines: Lines) -> Reading:
    """Return one record for each notice and each line."""
    facts: list[Fact] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        logger = _LOGGER.match(line[:400])
        rest = line[logger.end() : logger.end() + 1000] if logger else line[:1000]
        found = _NOTICE.match(rest)
        by = "torchrun" if found else "environment"
        found = found or _SET.match(line[:200])
        if found is not None:
            facts.append(
                ThreadSetting(
                    device=host_ref(),
                    variable="OMP_NUM_THREADS",
                    threads=int(found["threads"]),
                    by=by,
                    sources=(lines.cite(at, at, "threads", "by"),),
                )
            )
        elif not (_STARS.match(rest) or (logger is not None and not rest.strip())):
            break
        read_to = at + 1
    return Reading(facts=tuple(facts), read_to=read_to if facts else 0)

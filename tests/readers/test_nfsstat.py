"""What is read of nfsstat -c."""

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.nfsstat import read_nfsstat

TEXT = """Server rpc stats:
calls      badcalls   badclnt    badauth    xdrcall
9          0          0          0          0

Server nfs v3:
null         getattr
9       100% 0         0%

Client rpc stats:
calls      retrans    authrefrsh
1000       20         1001

Client nfs v3:
null         getattr      setattr
0         0% 600      60% 0         0%
--
read         write
100      10% 100      10%

Client nfs v4:
null         read
0         0% 200     20%
"""


def test_calls_of_the_client_are_counted_over_all_versions() -> None:
    reading = read_nfsstat(lines_of("n", TEXT + "other\n"))
    seen = {fact.op: fact for fact in reading.facts}
    assert list(seen) == ["RPC", "GETATTR", "READ", "WRITE"]
    assert (seen["RPC"].ops, seen["RPC"].retransmits) == (1000, 20)
    assert seen["RPC"].retransmit_ratio == 0.02
    assert seen["READ"].ops == 300
    assert {s.first for s in seen["READ"].sources if "ops" in s.fields} == {18, 22}
    assert seen["GETATTR"].share_ratio == 0.6
    assert seen["GETATTR"].exe_ms is None
    assert seen["RPC"].device.kind == "host"
    assert reading.read_to == 22


def test_a_filter_hides_the_shares_and_a_cut_row_is_lost_alone() -> None:
    seen = read_nfsstat(lines_of("n", TEXT, filtered="grep"))
    assert all(fact.share_ratio is None for fact in seen.facts)
    prose = read_nfsstat(lines_of("n", TEXT + "all is well\nand more\n"))
    assert prose.read_to == 22
    cut = read_nfsstat(lines_of("n", TEXT.replace("600      60%", "600")))
    assert [fact.op for fact in cut.facts] == ["RPC"]
    none = read_nfsstat(lines_of("n", "Client rpc stats:\ncalls      retrans\n0          0\n"))
    assert none.facts[0].retransmit_ratio is None


@pytest.mark.parametrize("text", ["", "calls retrans\n1 2\n", "Client nfs\n", "z" * 2000])
def test_other_text_is_no_nfsstat(text: str) -> None:
    assert read_nfsstat(lines_of("n", text)).read_to == 0

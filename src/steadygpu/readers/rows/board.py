"""What tells of the board, its supplies and its layout."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="dmidecode",
        title="the machine and its power supplies as the firmware describes them",
        command="sudo dmidecode -t 1,39",
        reader=READERS + "dmidecode:read_dmidecode",
        heads=(r"# dmidecode \d", r"Handle 0x[0-9A-Fa-f]{4}, DMI type \d{1,3}, \d{1,5} bytes\s*$"),
        gives=("PowerSupplies", "Setting"),
        files=("dmidecode*",),
    ),
)

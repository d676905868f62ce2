"""What pages are made of in tests: a record, predictions and a policy."""

from make_record import RecordBuilder

BEGIN = 1_000_000
WHATIF = {
    "schema": "syncopate-whatif",
    "version": 1,
    "machine": "/machines/big.toml",
    "lock": {"name": "0xa000"},
    "assumptions": ["work takes as long there"],
    "answers": [
        {"what": "lock=mcs", "label": "mcs", "threads": 8, "before": 1e6, "after": 1.5e6,
         "gain": 1.5, "low": 1.2, "high": 1.8},
        {"what": "halve", "label": "half as long", "threads": 8, "before": 1e6, "after": 1.9e6,
         "gain": 1.9, "low": 1.7, "high": 2.1},
    ],
}  # fmt: skip
POLICY = """
schema = "syncopate-policy"
version = 1
[default]
elide = "off"
reason = "transactions abort here"
[[lock]]
used = "0xa000"
elide = "always"
reason = "readers do not meet"
gain = "1.25x"
[[lock]]
variable = "gone"
elide = "off"
"""


def make(path, slow: int = 1):
    """Two mutexes, three threads, one of them unlucky."""
    builder = RecordBuilder()
    stacks = [builder.stack(0xA000 + n, 0xF000) for n in range(2)]
    threads = [builder.thread(10 + number, name) for number, name in enumerate("abc")]
    hot = builder.lock(0x9000, acquisitions=1000, first=stacks[0], holds=[100] * 40)
    builder.lock(0x9100, acquisitions=500, first=stacks[1])
    builder.row(threads[0], hot, 1, [500 * slow] * 20)
    builder.row(threads[1], hot, 1, [5000 * slow] * 20)
    builder.wait(threads[0], hot, BEGIN, BEGIN + 500, stacks[0], 12)
    builder.wait(threads[1], hot, BEGIN, BEGIN + 5000, stacks[0], 12)
    builder.hold(threads[2], hot, BEGIN, BEGIN + 6000, stacks[1])
    return builder.write(path)

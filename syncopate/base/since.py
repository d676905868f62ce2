"""What Python has by itself only since 3.10 or 3.11; the command runs under 3.9, too.

tests/unit/test_oldest_python.py finds others of these names."""

import functools
import sys

if sys.version_info >= (3, 10):
    zip_equal = functools.partial(zip, strict=True)
else:

    def zip_equal(*columns):
        """As zip(..., strict=True) of younger ones."""
        lists = [list(column) for column in columns]
        if len({len(each) for each in lists}) > 1:
            raise ValueError("zip_equal: columns of different lengths")
        return zip(*lists)


def toml_module():
    """tomllib, or the package that it was made of; imported by the few commands that read TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib

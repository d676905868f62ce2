"""What LD_PRELOAD and LD_LIBRARY_PATH become, whatever the library's path looks like."""

import pytest

from syncopate.base import preloading
from syncopate.base.errors import Failure


@pytest.mark.parametrize(
    ("library", "name", "folders"),
    [
        ("/opt/lib/ours.so.0", "/opt/lib/ours.so.0", None),
        ("/opt/my lib/ours.so.0", "ours.so.0", "/opt/my lib"),
    ],
)
def test_in_and_out(library, name, folders):
    environ = {"LD_PRELOAD": "libm.so.6 other.so", "HOME": "/"}
    before = dict(environ)
    preloading.put_first(environ, library)
    assert environ["LD_PRELOAD"] == f"{name}:libm.so.6:other.so"
    assert environ.get("LD_LIBRARY_PATH") == folders
    once = dict(environ)
    preloading.put_first(environ, library)
    assert environ == once
    preloading.take_out(environ, library)
    assert environ == {**before, "LD_PRELOAD": "libm.so.6:other.so"}


def test_taking_out_what_is_not_in_changes_nothing():
    environ = {"LD_PRELOAD": "libm.so.6", "LD_LIBRARY_PATH": "/opt/my lib"}
    preloading.take_out(environ, "/opt/my lib/ours.so.0")
    assert environ == {"LD_PRELOAD": "libm.so.6", "LD_LIBRARY_PATH": "/opt/my lib"}


def test_the_users_folders_stay_behind_ours():
    environ = preloading.changed(
        {"LD_LIBRARY_PATH": "/a:/b", "LD_PRELOAD": "not this one"},
        {"LD_PRELOAD": "/opt/my lib/ours.so.0", "MORE": "1"},
    )
    assert environ == {
        "LD_PRELOAD": "ours.so.0",
        "LD_LIBRARY_PATH": "/opt/my lib:/a:/b",
        "MORE": "1",
    }
    preloading.take_out(environ, "/opt/my lib/ours.so.0")
    assert environ == {"LD_LIBRARY_PATH": "/a:/b", "MORE": "1"}


@pytest.mark.parametrize("path", ["/a:b/ours.so", "/a;b/ours.so"])
def test_what_no_variable_can_name_is_refused(path):
    with pytest.raises(Failure, match="LD_PRELOAD cannot name such a path"):
        preloading.put_first({}, path)

"""What bin/syncopate of a wheel runs by Python's -I, so that the PYTHON* variables, which are the
program's, do not move the command (src/launcher/place.cpp). Where its packages are it tells itself:
with -I neither a user's packages nor those of `pip install --target` are looked for.
"""

import os
import sys

# This one's own package, whichever is installed elsewhere; all others as they are found anyway.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from syncopate.__main__ import main

sys.path.append(sys.path.pop(0))

sys.exit(main())

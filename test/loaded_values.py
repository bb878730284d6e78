"""A plugin for pytest: reverses load every value that their launches have stored, however cheap.

PYTHONPATH=test python -m pytest -n 0 -p loaded_values test/ad/tape/test_versions.py
"""

from mlirad.analysis.races import lasting_stores

lasting_stores.LEAST = 0

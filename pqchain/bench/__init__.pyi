from .blocks import measure_blocks as measure_blocks
from .comparing import compare_runs as compare_runs
from .operations import measure as measure
from .presets import PRESETS as PRESETS, Preset as Preset, preset as preset
from .runs import concat_runs as concat_runs
from .variation import header as header

from .replays import Replay as Replay, contrast as contrast, replay as replay
from .scenario import ReplayScenario as ReplayScenario, preset as preset

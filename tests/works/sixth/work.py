"""A fictional sixth work with a computation and a judged statement."""

from collections.abc import Iterable

from pqchain.results import Contract
from pqchain.works.readers import Number, NumberReader
from pqchain.works.verdicts import FAILS, HOLDS, Standing, Verdict
from pqchain.works.work import Bench, Frames, Work

FLIGHT = Contract.of(
    "pigeon-flight", ("str", "algorithm"), ("float64", "metres flight_seconds wire_seconds")
)

METRES_PER_SECOND = 22.0
LIGHT_METRES_PER_SECOND = 2e8


class Sixth(Work):
    """Flies one signature over ten kilometres."""

    def compute(self, bench: Bench) -> Frames:
        """Return `flight`."""
        metres = 1e4
        times = [metres / METRES_PER_SECOND, metres / LIGHT_METRES_PER_SECOND]
        return {"flight": FLIGHT.frame([[name, metres, *times] for name in self.algorithms()])}

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Read the time of a flight."""
        flights = {row["algorithm"]: row for row in frames["flight"].to_dict("records")}

        def read(name: str, quantity: str, implementation: str) -> Number:
            value = flights[name].get(quantity, 1.0)
            return Number(value, unit="s", standing=Standing("22 m/s"))

        yield NumberReader("modelled", read, ("flight_seconds", "verify_seconds"))

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge which is faster."""
        row = frames["flight"].iloc[0]
        slower = row["flight_seconds"] > row["wire_seconds"]
        evidence = f"{row['flight_seconds']:.0f} s on the wing"
        yield Verdict(HOLDS if slower else FAILS, evidence, "modelled")

"""Tasks follow each other, and every moment counts once."""

from pqchain.reencode.protocol.work import Item, Record, Work


def task(kind):
    return Item(kind, 1, lambda: None, lambda outcome: None)


def test_one_task_at_a_time():
    work = Work(Record())
    first, second = task("io"), task("decode")
    work.add(first)
    work.add(second)
    assert work.poll() is first
    assert work.poll() is None
    work.started(1.0)
    assert work.finished(3.0) is first
    assert work.poll() is second


def test_time_goes_to_the_phase_that_it_was():
    record = Record()
    work = Work(record)
    work.count(1.0)
    work.phase = "transfer"
    work.count(3.0)
    work.phase = "decode"
    work.count(3.5)
    work.phase = None
    work.count(9.0)
    assert record.seconds == {"transfer": 2.0, "decode": 0.5, "encode": 0, "io": 0, "other": 0}


def test_hidden_work_is_counted_beside():
    record = Record()
    work = Work(record)
    work.phase = "transfer"
    work.add(task("decode"))
    work.poll()
    work.started(0.0)
    work.count(2.0)
    work.finished(2.0)
    assert record.seconds["decode"] == 0
    assert record.work["decode"] == 2.0

//! The C interface under arguments without sense: always an answer, never a panic, and the memory of
//! the caller is touched only where it was named.
use pqchain_quic::event::Record;
use pqchain_quic::*;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Barrier;
use std::time::Duration;

struct Dice(u64);
impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 16
    }
    /// Mostly small, sometimes absurd.
    fn number(&mut self) -> u64 {
        match self.roll() % 8 {
            0 => self.roll(),
            1 => u64::MAX,
            2 => 1 << (self.roll() % 64),
            _ => self.roll() % 6,
        }
    }
}

#[test]
fn arguments_without_sense_are_refused() {
    let mut dice = Dice(1);
    let network = [3u64, 800, 50_000, 0, 1_000_000, 20_000, 0, 66, 1, 0];
    let handle = unsafe { pqq_network(network.as_ptr(), network.len()) };
    assert!(handle > 0);
    let mut numbers = [0u64; 16];
    let mut data = vec![0u8; 1 << 16];
    let mut records = vec![unsafe { std::mem::zeroed::<Record>() }; 8];
    for _ in 0..100_000 {
        let handle = if dice.roll() % 4 == 0 { dice.number() as i64 } else { handle };
        let (a, b, c, d) = (dice.number(), dice.number(), dice.number(), dice.number());
        let length = (dice.number() as usize).min(data.len());
        for number in numbers.iter_mut() {
            *number = dice.number();
        }
        let count = (dice.number() as usize).min(numbers.len());
        let answer = unsafe {
            match dice.roll() % 18 {
                0 => pqq_start(handle, numbers.as_ptr(), count, data.as_ptr(), length),
                1 => pqq_stop_host(handle, a),
                2 => pqq_dial(handle, a, b, c, data.as_ptr(), length),
                3 => pqq_open(handle, a, b, c),
                4 => pqq_send(handle, a, b, c, data.as_ptr(), length, d),
                5 => pqq_send(handle, a, b, c, std::ptr::null(), d as usize, 0),
                6 => pqq_returned(handle, numbers.as_mut_ptr(), count),
                7 => pqq_place(handle, a, b, c, d, std::ptr::null_mut(), length),
                8 => pqq_stop(handle, a, b, c),
                9 => pqq_prove(handle, a, b, c),
                10 => pqq_close(handle, a, b, c, data.as_ptr(), length),
                11 => pqq_queued(handle, a),
                12 => pqq_events(handle, records.as_mut_ptr(), 8, data.as_mut_ptr(), length),
                13 => pqq_statistics(handle, a, numbers.as_mut_ptr(), count),
                14 => pqq_run(handle, a.min(1 << 40)),
                15 => pqq_inject(handle, a, b, data.as_ptr(), length.min(2000)),
                16 => pqq_totals(handle, numbers.as_mut_ptr(), count),
                _ => pqq_socket(numbers.as_ptr(), count, data.as_ptr(), length, data.as_ptr(), 3),
            }
        };
        assert_ne!(answer, fault::BROKEN, "{}", fault::last());
        assert!(answer >= fault::FAILED);
    }
    assert_eq!(pqq_free(handle), 0);
    assert_eq!(pqq_free(handle), fault::BAD_ARGUMENT);
}

#[test]
fn a_panic_becomes_an_answer() {
    let answer = fault::guard(|| panic!("{} went wrong", "something"));
    assert_eq!(answer, fault::BROKEN);
    assert_eq!(fault::last(), "a bug in the QUIC library: something went wrong");
}

#[test]
fn freeing_waits_for_calls_of_other_threads() {
    let network = [2u64, 800, 50_000, 0, 1_000_000, 20_000, 0, 66, 1, 0];
    let handle = unsafe { pqq_network(network.as_ptr(), network.len()) };
    let (inside, left) = (Barrier::new(2), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let context = context::context(handle).unwrap();
            let call = context.world(|_| {
                inside.wait();
                std::thread::sleep(Duration::from_millis(200));
                left.store(true, SeqCst);
                Ok(())
            });
            drop(context);
            call.unwrap();
        });
        inside.wait();
        assert_eq!(pqq_free(handle), 0);
        assert!(left.load(SeqCst), "it was freed while a call ran");
    });
    assert_eq!(pqq_run(handle, 1), fault::BAD_ARGUMENT);
}

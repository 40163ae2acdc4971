//! The thread of a host on a socket, and its caller.
use pqchain_quic::live::{FairMutex, News};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const ROUNDS: u64 = 50_000;

fn wait(news: &News) -> bool {
    let mut polled = libc::pollfd { fd: news.descriptor(), events: libc::POLLIN, revents: 0 };
    unsafe { libc::poll(&mut polled, 1, 10_000) == 1 }
}

#[test]
fn no_news_is_lost_while_the_caller_looks() {
    let (news, made, seen) = (News::new().unwrap(), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                // The second comes while the caller looks for the first, sooner or later.
                for part in 1..=2 {
                    made.store(2 * round + part, SeqCst);
                    news.tell();
                    (0..round % 500).for_each(|_| std::hint::spin_loop());
                }
                while seen.load(SeqCst) < 2 * round + 2 {
                    std::hint::spin_loop();
                }
            }
        });
        while seen.load(SeqCst) < 2 * ROUNDS {
            let told = wait(&news);
            news.hear();
            // Without news the other thread must end, too.
            seen.store(if told { made.load(SeqCst) } else { u64::MAX }, SeqCst);
            assert!(told, "nothing was told for ten seconds");
        }
    });
}

#[test]
fn a_caller_that_waits_has_the_mutex_before_the_thread_again() {
    for round in 0..100 {
        let mutex = FairMutex::new(round);
        std::thread::scope(|scope| {
            let held = mutex.lock().unwrap();
            scope.spawn(|| *mutex.lock_as_caller().unwrap() += 1);
            while mutex.callers() == 0 {
                std::thread::yield_now();
            }
            drop(held);
            mutex.hand_over(Duration::from_secs(60));
            assert_eq!(*mutex.lock().unwrap(), round + 1);
        });
    }
}

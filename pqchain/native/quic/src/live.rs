//! A host on a UDP socket: a thread that sends bursts (GSO) and receives them (GRO), and an event
//! descriptor that notifies the event loop of the caller.
use crate::event::Room;
use crate::fault::{said, Fault};
use crate::host::Host;
use crate::settings::{Identity, Settings};
use crate::statistics::Statistics;
use bytes::BytesMut;
use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState, BATCH_SIZE};
use std::io::{ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LockResult, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Socket buffer size in each direction; the system may grant less.
const SOCKET_BYTES: usize = 4 << 20;
/// Maximum number of bytes of one peer per receiving call.
const RECEIVED_BYTES: usize = 1 << 16;
/// Receiving calls, and bursts of each connection, before the other direction gets its turn.
const RECEIVING_CALLS: usize = 4;
const BURSTS: usize = 4;
/// After holding the host for this time, the thread lets waiting callers have it first.
const TURN: Duration = Duration::from_millis(1);

/// Wakes the caller: readable from the first `tell` until the next `hear`.
pub struct News {
    signal: Signal,
    told: AtomicBool,
}
impl News {
    pub fn new() -> Result<Self, Fault> {
        Ok(News { signal: Signal::new()?, told: AtomicBool::new(false) })
    }
    pub fn descriptor(&self) -> i32 {
        self.signal.0.as_raw_fd()
    }
    /// Signal that events are available.
    pub fn tell(&self) {
        if !self.told.swap(true, Ordering::AcqRel) {
            self.signal.set();
        }
    }
    /// Begin to read events. In this order, a concurrent signal is set again or its event is read
    /// anyway.
    pub fn hear(&self) {
        self.signal.clear();
        self.told.store(false, Ordering::SeqCst);
    }
}

/// An eventfd.
struct Signal(OwnedFd);
impl Signal {
    fn new() -> Result<Self, Fault> {
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(Fault::failed(std::io::Error::last_os_error()));
        }
        // No other code owns the descriptor.
        Ok(Signal(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }
    fn set(&self) {
        let one = 1u64.to_ne_bytes();
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
    fn clear(&self) {
        let mut count = [0u8; 8];
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

/// A mutex of one thread and its callers. The standard mutex is not fair: a thread that locks it
/// again at once delays callers for many of its turns.
pub struct FairMutex<T> {
    mutex: Mutex<T>,
    callers: AtomicUsize,
}
impl<T> FairMutex<T> {
    pub fn new(value: T) -> Self {
        FairMutex { mutex: Mutex::new(value), callers: AtomicUsize::new(0) }
    }
    /// Lock it for the thread.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.mutex.lock()
    }
    /// Lock it for a caller, for whom `hand_over` waits.
    pub fn lock_as_caller(&self) -> LockResult<MutexGuard<'_, T>> {
        self.callers.fetch_add(1, Ordering::AcqRel);
        let guard = self.mutex.lock();
        self.callers.fetch_sub(1, Ordering::AcqRel);
        guard
    }
    pub fn callers(&self) -> usize {
        self.callers.load(Ordering::Acquire)
    }
    /// Wait until no caller waits for the mutex, but no longer than `patience`.
    pub fn hand_over(&self, patience: Duration) {
        let began = Instant::now();
        while self.callers() > 0 && began.elapsed() < patience {
            std::thread::yield_now();
        }
    }
}

struct Shared {
    host: FairMutex<Host>,
    socket: UdpSocket,
    state: UdpSocketState,
    /// Wakes the thread.
    wake: Signal,
    /// Wakes the caller.
    news: News,
    over: AtomicBool,
    broken: Mutex<Option<String>>,
}

pub struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    pub fn new(
        settings: Settings,
        identity: &Identity,
        address: SocketAddr,
    ) -> Result<Self, Fault> {
        let socket = UdpSocket::bind(address).map_err(Fault::failed)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket)).map_err(Fault::failed)?;
        // The system may grant less, which is not an error.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BYTES);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BYTES);
        let name = format!("quic-{}", settings.index);
        let mut host = Host::new(settings, identity, None)?;
        host.segments = host.segments.min(state.max_gso_segments());
        let shared = Arc::new(Shared {
            host: FairMutex::new(host),
            socket,
            state,
            wake: Signal::new()?,
            news: News::new()?,
            over: AtomicBool::new(false),
            broken: Mutex::new(None),
        });
        let running = shared.clone();
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| running.run())) {
                if let Ok(mut broken) = running.broken.lock() {
                    *broken = Some(said(&*panic));
                }
                running.news.tell();
            }
        });
        Ok(Live { shared, thread: Some(thread.map_err(Fault::failed)?) })
    }

    pub fn address(&self) -> Result<SocketAddr, Fault> {
        self.shared.socket.local_addr().map_err(Fault::failed)
    }

    /// Descriptor that is readable when there are events.
    pub fn descriptor(&self) -> i32 {
        self.shared.news.descriptor()
    }

    /// Run a function on the host now, and send the resulting datagrams.
    pub fn with<T>(
        &self,
        act: impl FnOnce(&mut Host, Instant) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut host = self.shared.host.lock_as_caller().map_err(|_| self.fault())?;
        let done = act(&mut host, Instant::now())?;
        let dirty = host.is_dirty();
        drop(host);
        if dirty {
            self.shared.wake.set();
        }
        Ok(done)
    }

    pub fn events(&self, room: &mut Room<'_>) -> Result<(), Fault> {
        let mut host = self.shared.host.lock_as_caller().map_err(|_| self.fault())?;
        self.shared.news.hear();
        if self.shared.broken.lock().map(|broken| broken.is_some()).unwrap_or(true) {
            return Err(self.fault());
        }
        if !host.take(room, 0) {
            self.shared.news.tell();
        }
        if host.is_dirty() {
            self.shared.wake.set();
        }
        Ok(())
    }

    pub fn statistics(&self) -> Result<Statistics, Fault> {
        self.with(|host, _| Ok(host.statistics()))
    }

    fn fault(&self) -> Fault {
        let text = self.shared.broken.lock().ok().and_then(|broken| broken.clone());
        Fault::broken(text.unwrap_or_else(|| "a call before this one has failed".into()))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        self.shared.wake.set();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Send a burst; false if the socket is full.
    fn send(&self, transmit: &Transmit, buffer: &[u8]) -> bool {
        let burst = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|mark| quinn_udp::EcnCodepoint::from_bits(mark as u8)),
            contents: &buffer[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: None,
        };
        // Other errors are treated as loss, which QUIC detects.
        !matches!(self.state.send(UdpSockRef::from(&self.socket), &burst),
            Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    fn run(&self) {
        let mut received = vec![0u8; RECEIVED_BYTES * BATCH_SIZE];
        let mut held: Option<(Transmit, Vec<u8>)> = None;
        let (mut timer, mut busy) = (None, false);
        while !self.over.load(Ordering::Acquire) {
            let patience =
                if busy && held.is_none() { Some(Duration::ZERO) } else { remaining(timer) };
            let readable = self.wait(held.is_some(), patience);
            let Ok(mut host) = self.host.lock() else { return };
            let now = Instant::now();
            if held.as_ref().is_some_and(|(transmit, buffer)| self.send(transmit, buffer)) {
                held = None;
            }
            if readable {
                self.receive(&mut host, now, &mut received);
            }
            if timer.is_some_and(|due| due <= now) {
                host.handle_timers(now);
            }
            if held.is_none() {
                host.flush(now, BURSTS, &mut |transmit, buffer| {
                    let room = self.send(transmit, buffer);
                    if !room {
                        let transmit = Transmit { src_ip: None, ..*transmit };
                        held = Some((transmit, std::mem::take(buffer)));
                    }
                    room
                });
            }
            timer = host.next_timer();
            busy = host.is_dirty();
            let news = !host.events.is_empty();
            drop(host);
            if news {
                self.news.tell();
            }
            if now.elapsed() > TURN {
                self.host.hand_over(TURN);
            }
        }
        // Send the closing frames, as far as the socket accepts them.
        if let Ok(mut host) = self.host.lock() {
            host.flush(Instant::now(), 1, &mut |transmit, buffer| self.send(transmit, buffer));
        }
    }

    /// Wait for the socket, a wake-up or the deadline; return whether there is something to
    /// receive.
    fn wait(&self, full: bool, patience: Option<Duration>) -> bool {
        let events = libc::POLLIN | if full { libc::POLLOUT } else { 0 };
        let mut polled = [
            libc::pollfd { fd: self.socket.as_raw_fd(), events, revents: 0 },
            libc::pollfd { fd: self.wake.0.as_raw_fd(), events: libc::POLLIN, revents: 0 },
        ];
        let patience = patience.map(|time| libc::timespec {
            tv_sec: time.as_secs() as _,
            tv_nsec: time.subsec_nanos() as _,
        });
        let limit = patience.as_ref().map_or(std::ptr::null(), |limit| limit as *const _);
        // The milliseconds of poll() would be too coarse for QUIC's timers.
        unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as _, limit, std::ptr::null()) };
        if polled[1].revents != 0 {
            self.wake.clear();
        }
        polled[0].revents & (libc::POLLIN | libc::POLLERR) != 0
    }

    fn receive(&self, host: &mut Host, now: Instant, received: &mut [u8]) {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        for _ in 0..RECEIVING_CALLS {
            let mut slices = received.chunks_mut(RECEIVED_BYTES).map(IoSliceMut::new);
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| slices.next().unwrap());
            let Ok(count) =
                self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut metas)
            else {
                return;
            };
            for (slice, meta) in slices.iter().zip(&metas[..count]) {
                let ecn = meta.ecn.and_then(|mark| EcnCodepoint::from_bits(mark as u8));
                for datagram in slice[..meta.len].chunks(meta.stride.max(1)) {
                    // A separate buffer for each datagram: QUIC may keep some bytes of it for long,
                    // and would otherwise keep all datagrams received with it.
                    let data = BytesMut::from(datagram);
                    host.receive(now, meta.addr, ecn, data, &mut |transmit, buffer| {
                        self.send(transmit, buffer)
                    });
                }
            }
            if count < BATCH_SIZE {
                return;
            }
        }
    }
}

fn remaining(timer: Option<Instant>) -> Option<Duration> {
    timer.map(|due| due.saturating_duration_since(Instant::now()))
}

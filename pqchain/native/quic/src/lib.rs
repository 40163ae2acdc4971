//! QUIC for pqchain: modelled networks of hosts, and hosts on sockets, behind the C interface of
//! quic.h. No panic crosses it, and no argument is trusted: handles are looked up, and invalid
//! arguments are rejected with a reason. Pointers refer to as many elements as the adjacent length
//! gives; quic.h has the other obligations of a caller.
#![allow(clippy::missing_safety_doc)] // it would be that sentence, at every function
pub mod context;
pub mod event;
pub mod fault;
pub mod host;
pub mod link;
pub mod live;
pub mod memory;
pub mod network;
pub mod parameters;
pub mod randomness;
pub mod settings;
pub mod statistics;
pub mod tls;
pub mod world;

use bytes::Bytes;
use context::{context, free, keep, on, Face};
use event::{Record, Room};
use fault::{guard, Fault};
use host::Host;
use link::Piece;
use live::Live;
use memory::{check, fill, slice, slice_mut, Lent};
use network::Network;
use settings::{Identity, Settings};
use std::net::SocketAddr;
use std::sync::Mutex;
use world::World;

const ABI: i64 = 2;
/// Size of the event buffer: no closing reason is longer.
const LEAST_EVENT_BYTES: usize = 1 << 12;

fn session_of(session: u64) -> u32 {
    u32::try_from(session).unwrap_or(0) // 0 is never one
}

fn parsed(address: &[u8]) -> Result<SocketAddr, Fault> {
    let text = String::from_utf8_lossy(address);
    text.parse().map_err(|_| {
        Fault::argument(format!("address must be an IP address and a port; got {text:?}"))
    })
}

#[no_mangle]
pub extern "C" fn pqq_abi() -> i64 {
    ABI
}

#[no_mangle]
pub unsafe extern "C" fn pqq_error(out: *mut u8, length: usize) -> i64 {
    guard(|| {
        let (text, out) = (fault::last(), unsafe { slice_mut(out, length)? });
        let count = text.len().min(out.len());
        out[..count].copy_from_slice(&text.as_bytes()[..count]);
        Ok(count as i64)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_network(numbers: *const u64, count: usize) -> i64 {
    guard(|| {
        let network = Network::read(unsafe { slice(numbers, count)? })?;
        keep(Face::Modelled(Box::new(Mutex::new(World::new(network)))))
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_start(
    handle: i64,
    numbers: *const u64,
    count: usize,
    identity: *const u8,
    length: usize,
) -> i64 {
    guard(|| {
        let settings = Settings::read(unsafe { slice(numbers, count)? })?;
        let identity = Identity::read(unsafe { slice(identity, length)? })?;
        context(handle)?.world(|world| world.start(settings, &identity))?;
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn pqq_stop_host(handle: i64, host: u64) -> i64 {
    guard(|| context(handle)?.world(|world| world.stop(host)).map(|()| 0))
}

#[no_mangle]
pub unsafe extern "C" fn pqq_socket(
    numbers: *const u64,
    count: usize,
    identity: *const u8,
    length: usize,
    address: *const u8,
    address_length: usize,
) -> i64 {
    guard(|| {
        let settings = Settings::read(unsafe { slice(numbers, count)? })?;
        let identity = Identity::read(unsafe { slice(identity, length)? })?;
        let address = parsed(unsafe { slice(address, address_length)? })?;
        keep(Face::Live(Live::new(settings, &identity, address)?))
    })
}

#[no_mangle]
pub extern "C" fn pqq_port(handle: i64) -> i64 {
    guard(|| Ok(context(handle)?.live()?.address()?.port() as i64))
}

#[no_mangle]
pub extern "C" fn pqq_descriptor(handle: i64) -> i64 {
    guard(|| Ok(context(handle)?.live()?.descriptor() as i64))
}

#[no_mangle]
pub extern "C" fn pqq_free(handle: i64) -> i64 {
    guard(|| free(handle).map(|()| 0))
}

#[no_mangle]
pub unsafe extern "C" fn pqq_dial(
    handle: i64,
    host: u64,
    peer: u64,
    early: u64,
    address: *const u8,
    length: usize,
) -> i64 {
    guard(|| {
        let context = context(handle)?;
        settings::within("peer", peer, 0, u32::MAX as u64 - 1)?;
        let to = match &context.face {
            Face::Modelled(_) => network::address(peer as u32),
            Face::Live(_) => parsed(unsafe { slice(address, length)? })?,
        };
        let dial = |host: &mut Host, now| host.dial(now, peer as u32, to, early != 0);
        Ok(context.host(host, dial)? as i64)
    })
}

#[no_mangle]
pub extern "C" fn pqq_open(handle: i64, host: u64, session: u64, one_way: u64) -> i64 {
    on(handle, host, |host, _| Ok(host.open(session_of(session), one_way != 0)? as i64))
}

#[no_mangle]
pub unsafe extern "C" fn pqq_send(
    handle: i64,
    host: u64,
    session: u64,
    stream: u64,
    at: *const u8,
    length: usize,
    end: u64,
) -> i64 {
    guard(|| {
        let data = Bytes::copy_from_slice(unsafe { slice(at, length)? });
        let piece = Piece { data, end: end != 0, owned: length, bulk: false };
        let send = |host: &mut Host, now| host.send(now, session_of(session), stream, piece);
        context(handle)?.host(host, send).map(|()| 0)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_lend(
    handle: i64,
    host: u64,
    session: u64,
    stream: u64,
    at: *const u8,
    length: usize,
    end: u64,
    owned: u64,
    token: u64,
) -> i64 {
    guard(|| {
        let context = context(handle)?;
        check(at, length)?;
        let returned = context.returned.clone();
        let data = if length == 0 {
            Bytes::new()
        } else {
            Bytes::from_owner(Lent { at, length, token, returned })
        };
        let owned = if owned != 0 { length } else { 0 };
        let piece = Piece { data, end: end != 0, owned, bulk: true };
        context
            .host(host, |host, now| host.send(now, session_of(session), stream, piece))
            .map(|()| 0)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_returned(handle: i64, out: *mut u64, length: usize) -> i64 {
    guard(|| {
        let (context, out) = (context(handle)?, unsafe { slice_mut(out, length)? });
        let mut returned = context.returned.lock().map_err(Fault::broken)?;
        let count = returned.len().min(out.len());
        for (slot, token) in out.iter_mut().zip(returned.drain(..count)) {
            *slot = token;
        }
        Ok(count as i64)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_place(
    handle: i64,
    host: u64,
    session: u64,
    stream: u64,
    offset: u64,
    at: *mut u8,
    length: usize,
) -> i64 {
    on(handle, host, |host, _| {
        check(if at.is_null() { std::ptr::dangling() } else { at as *const u8 }, length)?;
        Ok(host.place(session_of(session), stream, offset, at, length) as i64)
    })
}

#[no_mangle]
pub extern "C" fn pqq_stop(handle: i64, host: u64, session: u64, stream: u64) -> i64 {
    on(handle, host, |host, _| {
        host.stop(session_of(session), stream);
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn pqq_prove(handle: i64, host: u64, session: u64, peer: u64) -> i64 {
    on(handle, host, |host, _| {
        settings::within("peer", peer, 0, i32::MAX as u64)?;
        host.prove(session_of(session), peer as u32);
        Ok(0)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_close(
    handle: i64,
    host: u64,
    session: u64,
    code: u64,
    reason: *const u8,
    length: usize,
) -> i64 {
    on(handle, host, |host, now| {
        settings::within("code", code, 0, u32::MAX as u64)?;
        host.close(now, session_of(session), code as u32, unsafe { slice(reason, length)? });
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn pqq_queued(handle: i64, host: u64) -> i64 {
    on(handle, host, |host, _| Ok(host.queued_bytes() as i64))
}

#[no_mangle]
pub unsafe extern "C" fn pqq_events(
    handle: i64,
    records: *mut Record,
    most: usize,
    data: *mut u8,
    length: usize,
) -> i64 {
    guard(|| {
        if most == 0 || length < LEAST_EVENT_BYTES {
            return Err(Fault::argument(format!(
                "room for {most} events of {length} bytes; give {LEAST_EVENT_BYTES} up"
            )));
        }
        let context = context(handle)?;
        let mut room =
            Room::new(unsafe { slice_mut(records, most)? }, unsafe { slice_mut(data, length)? });
        match &context.face {
            Face::Modelled(world) => world.lock().map_err(Fault::broken)?.events(&mut room),
            Face::Live(live) => live.events(&mut room)?,
        }
        Ok(room.used as i64)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_statistics(
    handle: i64,
    host: u64,
    out: *mut u64,
    length: usize,
) -> i64 {
    on(handle, host, |host, _| fill(unsafe { slice_mut(out, length)? }, &host.statistics()))
}

#[no_mangle]
pub extern "C" fn pqq_run(handle: i64, until_ns: u64) -> i64 {
    guard(|| context(handle)?.world(|world| Ok(world.run(until_ns.min(i64::MAX as u64)) as i64)))
}

#[no_mangle]
pub unsafe extern "C" fn pqq_totals(handle: i64, out: *mut u64, length: usize) -> i64 {
    guard(|| {
        let totals = context(handle)?
            .world(|world| Ok([world.sent, world.dropped, world.lost, world.now()]))?;
        fill(unsafe { slice_mut(out, length)? }, &totals)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_digest(handle: i64, out: *mut u8, length: usize) -> i64 {
    guard(|| {
        let digest = context(handle)?.world(|world| Ok(world.digest()))?.unwrap_or_default();
        fill(unsafe { slice_mut(out, length)? }, &digest)
    })
}

#[no_mangle]
pub unsafe extern "C" fn pqq_inject(
    handle: i64,
    from: u64,
    to: u64,
    at: *const u8,
    length: usize,
) -> i64 {
    guard(|| {
        let data = unsafe { slice(at, length)? };
        context(handle)?.world(|world| world.inject(from, to, data)).map(|()| 0)
    })
}

#[no_mangle]
pub extern "C" fn pqq_tap(handle: i64, on: u64) -> i64 {
    guard(|| {
        context(handle)?.world(|world| {
            world.tapped = (on != 0).then(Vec::new);
            Ok(0)
        })
    })
}

/// The first tapped datagram: time, sender, receiver and bytes. Returns its length, or 0.
#[no_mangle]
pub unsafe extern "C" fn pqq_tapped(
    handle: i64,
    numbers: *mut u64,
    count: usize,
    out: *mut u8,
    length: usize,
) -> i64 {
    guard(|| {
        let (numbers, out) =
            (unsafe { slice_mut(numbers, count)? }, unsafe { slice_mut(out, length)? });
        context(handle)?.world(|world| {
            let Some(tapped) = world.tapped.as_mut().filter(|tapped| !tapped.is_empty()) else {
                return Ok(0);
            };
            if tapped[0].data.len() > out.len() {
                return Err(Fault::argument(format!("{} bytes of room for a datagram", out.len())));
            }
            let first = tapped.remove(0);
            fill(numbers, &[first.time_ns, first.from as u64, first.to as u64])?;
            fill(out, &first.data)
        })
    })
}

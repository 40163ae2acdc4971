//! Handles of the C interface and the objects that they refer to.
use crate::fault::{guard, Fault};
use crate::host::Host;
use crate::live::Live;
use crate::memory::Tokens;
use crate::world::World;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, RwLock};
use std::time::{Duration, Instant};

/// Interval of the checks whether other threads still run calls on a handle that is freed.
const PATIENCE: Duration = Duration::from_micros(100);

pub enum Face {
    Modelled(Box<Mutex<World>>),
    Live(Live),
}

pub struct Context {
    pub face: Face,
    /// Tokens of lent memory that is no longer needed.
    pub returned: Tokens,
}

static CONTEXTS: LazyLock<RwLock<HashMap<i64, Arc<Context>>>> = LazyLock::new(Default::default);
static NEXT: AtomicI64 = AtomicI64::new(1);

/// Register an object and return its handle.
pub fn keep(face: Face) -> Result<i64, Fault> {
    let handle = NEXT.fetch_add(1, Ordering::Relaxed);
    let context = Arc::new(Context { face, returned: Tokens::default() });
    CONTEXTS.write().map_err(Fault::broken)?.insert(handle, context);
    Ok(handle)
}

pub fn context(handle: i64) -> Result<Arc<Context>, Fault> {
    let found = CONTEXTS.read().map_err(Fault::broken)?.get(&handle).cloned();
    found.ok_or_else(|| Fault::argument(format!("handle must be an open one; got {handle}")))
}

impl Context {
    pub fn world<T>(&self, act: impl FnOnce(&mut World) -> Result<T, Fault>) -> Result<T, Fault> {
        match &self.face {
            Face::Modelled(world) => act(&mut *world.lock().map_err(Fault::broken)?),
            Face::Live(_) => {
                Err(Fault::argument("the handle must be that of a modelled network; got a socket"))
            }
        }
    }
    pub fn live(&self) -> Result<&Live, Fault> {
        match &self.face {
            Face::Live(live) => Ok(live),
            Face::Modelled(_) => {
                Err(Fault::argument("the handle must be that of a socket; got a modelled network"))
            }
        }
    }
    pub fn host<T>(
        &self,
        host: u64,
        act: impl FnOnce(&mut Host, Instant) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match &self.face {
            Face::Modelled(_) => self.world(|world| world.with(host, act)),
            Face::Live(live) => live.with(act),
        }
    }
}

/// Close a handle; wait until its thread and the calls of other threads have ended.
pub fn free(handle: i64) -> Result<(), Fault> {
    let removed = CONTEXTS.write().map_err(Fault::broken)?.remove(&handle);
    let mut shared = removed
        .ok_or_else(|| Fault::argument(format!("handle must be an open one; got {handle}")))?;
    loop {
        // A call that began earlier shares it and may access memory of the caller; none can begin
        // now.
        match Arc::try_unwrap(shared) {
            Ok(_) => return Ok(()),
            Err(busy) => shared = busy,
        }
        std::thread::sleep(PATIENCE);
    }
}

/// Run a call on a host.
pub fn on(
    handle: i64,
    host: u64,
    act: impl FnOnce(&mut Host, Instant) -> Result<i64, Fault>,
) -> i64 {
    guard(|| context(handle)?.host(host, act))
}

//! Error codes and texts for the caller of the C interface.
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// An argument is invalid.
pub const BAD_ARGUMENT: i64 = -1;
/// The system or a library failed.
pub const FAILED: i64 = -2;
/// A bug in this library; the object of the call is not used any more.
pub const BROKEN: i64 = -3;

#[derive(Debug)]
pub struct Fault {
    pub code: i64,
    pub text: String,
}
impl Fault {
    pub fn argument(text: impl Into<String>) -> Self {
        Fault { code: BAD_ARGUMENT, text: text.into() }
    }
    pub fn failed(text: impl ToString) -> Self {
        Fault { code: FAILED, text: text.to_string() }
    }
    pub fn broken(text: impl ToString) -> Self {
        Fault { code: BROKEN, text: text.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Text of the last fault on this thread.
pub fn last() -> String {
    LAST.with(|last| last.borrow().clone())
}

/// Run a call; turn a fault or a panic into its code and store its text.
pub fn guard(call: impl FnOnce() -> Result<i64, Fault>) -> i64 {
    let fault = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return value,
        Ok(Err(fault)) => fault,
        Err(panic) => Fault::broken(said(&*panic)),
    };
    LAST.with(|last| *last.borrow_mut() = fault.text);
    fault.code
}

/// Message of a panic.
pub fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a bug in the QUIC library: {}", text.unwrap_or_default())
}

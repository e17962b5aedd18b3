//! Cancel requests: they come over a connection of their own and name another one by its
//! number and secret.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use sql::Canceller;
use subtle::ConstantTimeEq;

use protocol::frontend::CancelKey;

/// All connections that can be cancelled.
#[derive(Default)]
pub struct CancelRegistry {
    process: AtomicU32,
    entries: Mutex<HashMap<u32, (u32, Canceller)>>,
}

impl CancelRegistry {
    /// A key for a new connection. Numbers start again after four billion connections.
    pub fn new_key(&self) -> CancelKey {
        let process = self.process.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        // Clients read it as a signed number that is not negative.
        CancelKey {
            process: process & i32::MAX.cast_unsigned(),
            secret: rand::random(),
        }
    }

    /// Enters a connection; it is taken out when the registration is dropped.
    pub fn register(self: &Arc<Self>, key: CancelKey, canceller: Canceller) -> Registration {
        self.entries
            .lock()
            .insert(key.process, (key.secret, canceller));
        Registration {
            registry: self.clone(),
            process: key.process,
        }
    }

    /// Ends the statement of the connection that `key` names, if the secret is right. Whether
    /// it was is not told, as the protocol wants it.
    pub fn cancel(&self, key: CancelKey) {
        let entries = self.entries.lock();
        if let Some((secret, canceller)) = entries.get(&key.process)
            && bool::from(secret.ct_eq(&key.secret))
        {
            canceller.cancel();
        }
    }
}

/// A connection's place in the registry.
pub struct Registration {
    registry: Arc<CancelRegistry>,
    process: u32,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.entries.lock().remove(&self.process);
    }
}

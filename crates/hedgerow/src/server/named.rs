//! What a client has given names to: prepared statements, portals. So much, and no more.
//!
//! Everything counts what the client sent for it and a fixed share for what is made of it.

use std::collections::HashMap;

use super::failure::Failure;

/// What the things of one kind of one connection may take, bytes.
const BYTES_MAX: usize = 64 << 20;

/// Things by name.
pub struct Named<T> {
    /// What they are, for messages.
    kind: &'static str,
    /// What each of them counts besides what the client sent, bytes.
    share_bytes: usize,
    things: HashMap<String, Entry<T>>,
    bytes: usize,
}

struct Entry<T> {
    thing: T,
    bytes: usize,
}

impl<T> Named<T> {
    /// None of this `kind`.
    pub fn new(kind: &'static str, share_bytes: usize) -> Self {
        Self {
            kind,
            share_bytes,
            things: HashMap::new(),
            bytes: 0,
        }
    }

    /// Keeps a thing for which the client sent so many bytes, in the place of its namesake.
    pub fn insert(&mut self, name: String, thing: T, sent_bytes: usize) -> Result<(), Failure> {
        self.remove(&name);
        let bytes = name.len() + sent_bytes + self.share_bytes;
        if self.bytes + bytes > BYTES_MAX {
            let message = format!("too many or too large {}s in this session", self.kind);
            let hint = format!(
                "Close some; those of a session may take {} MB.",
                BYTES_MAX >> 20
            );
            return Err(Failure::new("53400", message).with_hint(hint));
        }
        self.bytes += bytes;
        self.things.insert(name, Entry { thing, bytes });
        Ok(())
    }

    /// Forgets a thing; whether there was one of this name.
    pub fn remove(&mut self, name: &str) -> bool {
        let removed = self.things.remove(name);
        self.bytes -= removed.as_ref().map_or(0, |entry| entry.bytes);
        removed.is_some()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Forgets those that are not to be kept.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&mut T) -> bool) {
        self.things.retain(|_, entry| is_kept(&mut entry.thing));
        self.bytes = self.things.values().map(|entry| entry.bytes).sum();
    }

    /// Whether there is one of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.things.contains_key(name)
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.things.get(name).map(|entry| &entry.thing)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.things.get_mut(name).map(|entry| &mut entry.thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_kept_until_they_take_too_much() {
        let mut named = Named::new("thing", 1 << 10);
        let half = BYTES_MAX / 2 - (2 << 10);
        named.insert("a".to_owned(), 1, half).expect("room");
        named.insert("b".to_owned(), 2, half).expect("room");
        let failure = named.insert("c".to_owned(), 3, half).expect_err("no room");
        assert_eq!(failure.code, "53400");
        assert!(named.contains("a") && !named.contains("c"));
        // A namesake gives its place back first.
        named.insert("a".to_owned(), 4, half).expect("room");
        assert_eq!(named.get("a"), Some(&4));
        named.remove("b");
        named.insert("c".to_owned(), 3, half).expect("room");
        named.clear();
        assert!(!named.contains("a"));
        named.insert("d".to_owned(), 5, 2 * half).expect("room");
    }

    #[test]
    fn small_things_are_counted_too() {
        let mut named = Named::new("thing", 1 << 20);
        let kept = (0..1_000).take_while(|number: &i32| {
            let kept = named.insert(number.to_string(), (), 0);
            kept.is_ok()
        });
        assert!((32..64).contains(&kept.count()));
    }
}

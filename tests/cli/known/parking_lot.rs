// parking_lot.rs -- as much of the crate of that name as its waits are told by: who waits is put
// aside at a futex of its own, by functions that are called so.
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::Mutex;

extern "C" {
    fn syscall(number: i64, ...) -> i64;
}
const FUTEX: i64 = 202;
const WAIT_PRIVATE: i32 = 128;
const WAKE_PRIVATE: i32 = 129;

type Parker = &'static AtomicU32;

thread_local!(static OWN: Parker = Box::leak(Box::new(AtomicU32::new(0))));

#[derive(Default)]
struct Queue {
    taken: bool,
    waiters: VecDeque<Parker>,
}

#[inline(always)]
fn park(own: Parker) {
    while own.load(SeqCst) == 1 {
        unsafe { syscall(FUTEX, own.as_ptr(), WAIT_PRIVATE, 1i32, 0usize) };
    }
}

#[inline(always)]
fn take(queue: &Mutex<Queue>) {
    let own = OWN.with(|own| *own);
    {
        let mut q = queue.lock().unwrap();
        if !std::mem::replace(&mut q.taken, true) {
            return;
        }
        own.store(1, SeqCst);
        q.waiters.push_back(own);
    }
    park(own);
}

#[inline(always)]
fn hand_on(queue: &Mutex<Queue>) {
    let mut q = queue.lock().unwrap();
    let next = q.waiters.pop_front();
    q.taken = next.is_some();
    drop(q);
    if let Some(next) = next {
        next.store(0, SeqCst);
        unsafe { syscall(FUTEX, next.as_ptr(), WAKE_PRIVATE, 1i32) };
    }
}

pub mod raw_mutex {
    #[derive(Default)]
    pub struct RawMutex(std::sync::Mutex<super::Queue>);
    impl RawMutex {
        #[inline(never)]
        pub fn lock_slow(&self) {
            super::take(&self.0);
        }
        #[inline(never)]
        pub fn unlock_slow(&self) {
            super::hand_on(&self.0);
        }
    }
}

pub mod raw_rwlock {
    #[derive(Default)]
    pub struct RawRwLock(std::sync::Mutex<super::Queue>);
    impl RawRwLock {
        #[inline(never)]
        fn lock_common(&self) {
            super::take(&self.0);
        }
        #[inline(never)]
        pub fn lock_shared_slow(&self) {
            self.lock_common();
            std::hint::black_box(1); // so that the call is no jump
        }
        #[inline(never)]
        pub fn lock_exclusive_slow(&self) {
            self.lock_common();
            std::hint::black_box(2);
        }
        #[inline(never)]
        pub fn unlock_slow(&self) {
            super::hand_on(&self.0);
        }
    }
}

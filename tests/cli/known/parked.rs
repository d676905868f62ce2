// parked.rs -- one thread waits in turn for two locks of parking_lot that another holds, longer for
// the first one. Prints NANOSECONDS of the first, those of the second, WAITER, HOLDER.
use parking_lot::{raw_mutex::RawMutex, raw_rwlock::RawRwLock};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

extern "C" {
    fn gettid() -> i32;
}

#[derive(Default)]
struct Shared {
    mutex: RawMutex,
    rwlock: RawRwLock,
    round: AtomicI32,
    done: AtomicI32,
    waited: [AtomicU64; 2],
}

#[inline(never)]
fn keep_mutex(s: &Shared, round: i32) {
    s.mutex.lock_slow();
    s.round.store(round, SeqCst);
    sleep(Duration::from_millis(60));
    s.mutex.unlock_slow();
}

#[inline(never)]
fn keep_rwlock(s: &Shared, round: i32) {
    s.rwlock.lock_exclusive_slow();
    s.round.store(round, SeqCst);
    sleep(Duration::from_millis(30));
    s.rwlock.unlock_slow();
}

#[inline(never)]
fn wait_for_mutex(s: &Shared) {
    s.mutex.lock_slow();
    s.done.fetch_add(1, SeqCst);
    s.mutex.unlock_slow();
}

#[inline(never)]
fn wait_for_rwlock(s: &Shared) {
    s.rwlock.lock_shared_slow();
    s.done.fetch_add(1, SeqCst);
    s.rwlock.unlock_slow();
}

fn main() {
    let s: &'static Shared = Box::leak(Box::default());
    let holder = spawn(|| {
        for round in 1..=10 {
            while s.done.load(SeqCst) != round - 1 {
                sleep(Duration::from_millis(1));
            }
            [keep_rwlock, keep_mutex][round as usize % 2](s, round);
        }
        unsafe { gettid() }
    });
    let waiter = spawn(|| {
        for round in 1..=10 {
            while s.round.load(SeqCst) != round {
                sleep(Duration::from_millis(1));
            }
            let begin = Instant::now();
            [wait_for_rwlock, wait_for_mutex][round as usize % 2](s);
            let waited = begin.elapsed().as_nanos() as u64;
            s.waited[1 - round as usize % 2].fetch_add(waited, SeqCst);
        }
        unsafe { gettid() }
    });
    let (holder, waiter) = (holder.join().unwrap(), waiter.join().unwrap());
    let [first, second] = &s.waited;
    println!("{} {} {waiter} {holder}", first.load(SeqCst), second.load(SeqCst));
}

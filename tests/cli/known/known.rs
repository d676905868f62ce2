// known.rs -- one thread waits for a std::sync lock, again and again, that another holds.
// Argument: mutex, read or write. Prints NANOSECONDS WAITER HOLDER.
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

extern "C" {
    fn gettid() -> i32;
}

struct Shared {
    kind: String,
    mutex: Mutex<u64>,
    rwlock: RwLock<u64>,
    round: AtomicI32,
    done: AtomicI32,
    waited: AtomicU64,
}

#[inline(never)]
fn hold_here(s: &Shared, round: i32) {
    if s.kind == "mutex" {
        let mut count = s.mutex.lock().unwrap();
        s.round.store(round, SeqCst);
        thread::sleep(Duration::from_millis(60));
        *count += 1;
    } else {
        let mut count = s.rwlock.write().unwrap();
        s.round.store(round, SeqCst);
        thread::sleep(Duration::from_millis(60));
        *count += 1;
    }
}

#[inline(never)]
fn wait_here(s: &Shared) {
    match s.kind.as_str() {
        "mutex" => *s.mutex.lock().unwrap() += 1,
        "read" => assert!(*s.rwlock.read().unwrap() > 0),
        _ => *s.rwlock.write().unwrap() += 1,
    }
}

fn main() {
    let kind = std::env::args().nth(1).unwrap_or("mutex".into());
    let shared = Arc::new(Shared {
        kind,
        mutex: Mutex::new(0),
        rwlock: RwLock::new(0),
        round: AtomicI32::new(0),
        done: AtomicI32::new(0),
        waited: AtomicU64::new(0),
    });
    let s = shared.clone();
    let holder = thread::spawn(move || {
        for round in 1..=5 {
            while s.done.load(SeqCst) != round - 1 {
                thread::sleep(Duration::from_millis(1));
            }
            hold_here(&s, round);
        }
        unsafe { gettid() }
    });
    let s = shared.clone();
    let waiter = thread::spawn(move || {
        for round in 1..=5 {
            while s.round.load(SeqCst) != round {
                thread::sleep(Duration::from_millis(1));
            }
            let begin = Instant::now();
            wait_here(&s);
            s.waited.fetch_add(begin.elapsed().as_nanos() as u64, SeqCst);
            s.done.store(round, SeqCst);
        }
        unsafe { gettid() }
    });
    let (holder, waiter) = (holder.join().unwrap(), waiter.join().unwrap());
    println!("{} {} {}", shared.waited.load(SeqCst), waiter, holder);
}

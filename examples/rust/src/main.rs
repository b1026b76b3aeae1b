// A cache that keeps each answer, filled by four threads.  Its memory is in recordings, since
// Rust's allocator is malloc.  An argument is the number of rounds, ten a second.
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

type Cache = Arc<Mutex<HashMap<u64, Vec<u8>>>>;

#[inline(never)]
fn render_answer(key: u64) -> Vec<u8> {
    vec![key as u8; 1000]
}

#[inline(never)]
fn fill_cache(cache: &Cache, first: u64) {
    for key in first..first + 10_000 {
        let answer = render_answer(key);
        cache.lock().unwrap().insert(key, answer);
    }
}

fn fill_by_threads(cache: &Cache) {
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let cache = cache.clone();
            thread::spawn(move || fill_cache(&cache, i * 10_000))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(1, |text| text.parse().unwrap());
    let cache = Cache::default();
    for round in 0..rounds {
        if round > 0 {
            thread::sleep(Duration::from_millis(100));
        }
        fill_by_threads(&cache);
    }
    println!("{} answers", cache.lock().unwrap().len());
}

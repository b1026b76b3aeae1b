// The task of words.awk in threads, one of which panics, and a panic that is caught.
use std::collections::HashMap;
use std::thread;

fn words() -> String {
    let mut lists: HashMap<String, Vec<String>> = HashMap::new();
    for i in 0..200000u64 {
        let key = format!("key{}", i * 7919 % 10007);
        lists.entry(key).or_default().push(format!("{},", i));
    }
    let mut keys: Vec<&String> = lists.keys().collect();
    keys.sort();
    let mut hash: u64 = 0;
    for key in &keys {
        let text = key.to_uppercase() + ":" + &lists[*key].concat();
        hash = (hash * 31 + text.replace('7', "seven").len() as u64) % 1000000007;
    }
    format!("{} {}", keys.len(), hash)
}

fn main() {
    let threads: Vec<_> = (0..3).map(|_| thread::spawn(words)).collect();
    for thread in threads {
        println!("{}", thread.join().unwrap());
    }
    println!("{}", thread::spawn(|| panic!("on purpose")).join().is_err());
    println!("{}", std::panic::catch_unwind(|| Vec::<u8>::new()[3]).is_err());
    std::process::exit(3);
}

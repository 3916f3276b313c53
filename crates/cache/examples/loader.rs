//! A loader that reads records in another random order in each epoch, over a store of 5 ms: without
//! a plan, and with one.
//!
//! `cargo run --release -p foresee --example loader`

use std::sync::Arc;
use std::time::Instant;

use foresee::store::{Faults, Faulty, Memory};
use foresee::{Cache, Error};

const RECORD: u64 = 16 << 10;
const RECORDS: u64 = 2000;
const EPOCHS: u64 = 2;

/// The order of an epoch: each record once.
fn order(epoch: u64) -> impl Iterator<Item = u64> + Clone + Send {
    // 2,000 is 2^4 times 5^3, so a factor that ends on 7 or 3 goes through all.
    (0..RECORDS).map(move |at| (at * (777 + 10 * epoch) + 13 * epoch) % RECORDS)
}

fn epochs(told: bool) -> Result<f64, Error> {
    let objects = Memory::default();
    objects.put("records", vec![1; (RECORD * RECORDS) as usize]);
    let slow = Faulty::new(objects, 1, Faults { late_us_max: 10_000, ..Faults::default() });
    let cache = Cache::builder().memory(16 << 20).store("slow", Arc::new(slow)).open()?;
    let file = cache.open("slow://records")?;
    let begun = Instant::now();
    let mut plan = cache.plan();
    if told {
        let records = file.clone();
        let all = (0..EPOCHS).flat_map(order);
        plan.generate(all.map(move |it| (records.clone(), it * RECORD..(it + 1) * RECORD)));
    }
    let mut sum = 0;
    for record in (0..EPOCHS).flat_map(order) {
        sum += u64::from(file.view(record * RECORD, RECORD as usize)?[0]);
    }
    assert_eq!(sum, EPOCHS * RECORDS);
    Ok(begun.elapsed().as_secs_f64())
}

fn main() -> Result<(), Error> {
    println!("{} records: {:.2} s told nothing", EPOCHS * RECORDS, epochs(false)?);
    println!("{} records: {:.2} s with a plan", EPOCHS * RECORDS, epochs(true)?);
    Ok(())
}

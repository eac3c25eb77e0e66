//! The reader of PHP's serialize format under hostile input: real structures with bytes changed, taken out and put in.
//!
//! `cargo test --test php_serialize` runs 100 000 inputs; by hand more:
//! `SB_FUZZ_RUNS=10000000 SB_FUZZ_SEED=7 cargo test --test php_serialize`

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use sb::contract::json;
use sb::platform::php_serialize::{Serialized, looks_serialized};

/// What the systems write, in every form.
const SEEDS: [&[u8]; 8] = [
    b"a:5:{s:12:\"product_base\";s:9:\"/product/\";s:8:\"tag_base\";s:11:\"product-tag\";i:7;b:0;i:-1;d:23.036199999999997;i:8;N;}",
    b"a:2:{s:4:\"cart\";s:40:\"a:1:{s:1:\"x\";a:1:{s:8:\"quantity\";i:2;}}\";s:3:\"key\";s:4:\"\xf0\x9f\xa6\x8a\";}",
    b"a:1:{s:4:\"rate\";O:16:\"WC_Shipping_Rate\":1:{s:7:\"\0*\0data\";a:1:{s:2:\"id\";s:1:\"x\";}}}",
    b"a:3:{i:0;C:11:\"ArrayObject\":6:{x:i:0;}i:1;E:11:\"Suit:Hearts\";i:2;R:1;}",
    b"a:1:{i:0;a:1:{i:0;a:1:{i:0;a:1:{i:0;a:1:{i:0;a:0:{}}}}}}",
    b"a:4:{i:0;d:1.0E+25;i:1;d:-INF;i:2;d:0.1;i:3;i:9223372036854775807;}",
    b"s:18:\"a:1:{i:0;s:1:\"x\";}\";",
    b"N;",
];

/// What a change puts in: pieces that mean something to the reader.
const PIECES: [&[u8]; 16] = [
    b"a:",
    b"s:",
    b"i:",
    b"O:",
    b"{",
    b"}",
    b";",
    b"\"",
    b":",
    b"-",
    b"9999999999999999999",
    b"0",
    b"R:1;",
    b"\xff",
    b"\0",
    b"E",
];

/// xorshift64*: the same inputs for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % below.max(1)
    }
}

fn variable(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}"))
    })
}

fn changed(random: &mut Random, input: &mut Vec<u8>) {
    for _ in 0..=random.next(4) {
        let at = random.next(input.len() + 1);
        match random.next(5) {
            0 if at < input.len() => input[at] = u8::try_from(random.next(256)).unwrap(),
            1 if at < input.len() => {
                input.remove(at);
            }
            2 => input.truncate(at),
            3 => {
                // A part of itself, so that structures come to lie in each other.
                let end = (at + random.next(24)).min(input.len());
                let part = input[at..end].to_vec();
                let to = random.next(input.len() + 1);
                input.splice(to..to, part);
            }
            _ => {
                let piece = PIECES[random.next(PIECES.len())];
                input.splice(at..at, piece.iter().copied());
            }
        }
    }
    input.truncate(4096);
}

#[test]
fn no_input_does_more_than_to_be_refused() {
    let runs = variable("SB_FUZZ_RUNS", 100_000);
    let mut random = Random(variable("SB_FUZZ_SEED", 0x5eed) | 1);
    let (mut read, mut with_objects) = (0_u64, 0_u64);
    let mut input = SEEDS[0].to_vec();
    for run in 0..runs {
        // Most inputs grow out of the one before, so that changes add up; each seed comes back.
        if run % 8 == 0 {
            input = SEEDS[random.next(SEEDS.len())].to_vec();
        }
        changed(&mut random, &mut input);
        let _ = looks_serialized(&input);
        let Some(value) = Serialized::decode(&input) else {
            continue;
        };
        read += 1;
        // What was read is written and read again as the same; NaN alone is not the same as itself.
        let text = value.encode();
        let again = Serialized::decode(&text).unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(&text)));
        assert_eq!(again.encode(), text, "{:?}", String::from_utf8_lossy(&input));
        let plain = value.clone().into_value();
        with_objects += u64::from(plain.is_none());
        if let Some(plain) = plain {
            let _ = json::encode(&plain);
            assert!(Serialized::of(&plain).is_some());
        }
        let _ = value.without_objects();
    }
    // The loop has tried something: inputs of both kinds were read.
    assert!(
        read > runs / 1000 && with_objects > runs / 10_000,
        "{read} read, {with_objects} with objects"
    );
}

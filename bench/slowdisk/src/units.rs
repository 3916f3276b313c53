//! Durations, sizes and rates as people write them.

/// `5ms`, `100us`, `1.5s`, `250ns`; a bare number is refused, because nobody agrees on its unit.
pub fn duration(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ if number == "0" => 1.0,
        _ => return Err(format!("`{text}` is no duration: write a number and ns, us, ms or s, as in 5ms")),
    };
    scaled(text, number, scale)
}

/// `4G`, `512M`, `64K`, `4096`: powers of 1024, as for files.
pub fn size(text: &str) -> Result<u64, String> {
    with_prefix(text, 1024.0, "a size: write a number and K, M, G or T (powers of 1024), as in 4G")
}

/// `150M`, `1G`: bytes per second in powers of 1000, as drives and links are sold.
pub fn rate(text: &str) -> Result<u64, String> {
    with_prefix(text, 1000.0, "a rate: write a number and K, M or G (powers of 1000) for bytes per second, as in 150M")
}

/// `10%` or `10`: a share of the whole.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is no percentage between 0% and 100%")),
    }
}

/// The shortest exact spelling that [`duration`] reads back.
pub fn show_duration(nanos: u64) -> String {
    match nanos {
        0 => "0".into(),
        n if n % 1_000_000_000 == 0 => format!("{}s", n / 1_000_000_000),
        n if n % 1_000_000 == 0 => format!("{}ms", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}us", n / 1_000),
        n => format!("{n}ns"),
    }
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

fn with_prefix(text: &str, base: f64, what: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit = unit.trim_end_matches("/s").trim_end_matches(['B', 'b']).trim_end_matches('i');
    let power = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err(format!("`{text}` is not {what}")),
    };
    scaled(text, number, base.powi(power)).map_err(|_| format!("`{text}` is not {what}"))
}

fn scaled(text: &str, number: &str, scale: f64) -> Result<u64, String> {
    match number.parse::<f64>() {
        // 2^53 keeps every accepted value exact in the arithmetic that follows.
        Ok(value) if value * scale <= 9.0e15 => Ok((value * scale).round() as u64),
        Ok(_) => Err(format!("`{text}` is too large")),
        Err(_) => Err(format!("`{text}` does not begin with a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("5ms"), Ok(5_000_000));
        assert_eq!(duration("1.5s"), Ok(1_500_000_000));
        assert_eq!(duration("0"), Ok(0));
        assert!(duration("5").is_err());
        assert!(duration("ms").is_err());
        for nanos in [0, 1, 1_000, 5_000_000, 1_500_000, 2_000_000_000, 123_456_789] {
            assert_eq!(duration(&show_duration(nanos)), Ok(nanos));
        }
    }

    #[test]
    fn sizes_are_binary_and_rates_decimal() {
        assert_eq!(size("4G"), Ok(4 << 30));
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(rate("150M"), Ok(150_000_000));
        assert_eq!(rate("1GB/s"), Ok(1_000_000_000));
        assert!(size("4X").is_err());
        assert!(size("").is_err());
    }

    #[test]
    fn percentages() {
        assert_eq!(percent("10%"), Ok(10.0));
        assert!(percent("101%").is_err());
    }
}

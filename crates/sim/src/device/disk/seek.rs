//! How long the arm takes: a curve over the distance in cylinders.
//!
//! The first distances are given one by one, since a short seek is mostly settling; farther ones by
//! pieces of `base + root * sqrt(d) + slope * d`: the arm first accelerates and brakes (the root),
//! then coasts (the slope).
//!
//! Worked example, the HP C2247A: 1 cylinder takes 2.89 ms from the list, 100 take 3.81 + 0.33
//! sqrt(100) = 7.11 ms, 1,000 take 7.75 + 0.0059 x 1,000 = 13.65 ms.

/// One stretch of a curve.
#[derive(Debug, PartialEq)]
pub struct Piece {
    /// The least distance it is for.
    pub from: u64,
    /// Milliseconds.
    pub base: f64,
    /// Milliseconds a square root of a cylinder.
    pub root: f64,
    /// Milliseconds a cylinder.
    pub slope: f64,
}

/// A seek curve.
#[derive(Debug, PartialEq)]
pub struct Seek {
    /// For distances of 1, 2, ...: milliseconds.
    pub first_ms: &'static [f64],
    /// Beyond, in the order of distances.
    pub pieces: &'static [Piece],
}

impl Seek {
    /// The time for a distance. Square roots, products and sums of doubles are the same on every
    /// machine.
    pub fn ns(&self, distance: u64) -> u64 {
        let Some(nth) = distance.checked_sub(1) else { return 0 };
        let listed = self.first_ms.get(nth as usize).copied();
        let ms = listed.or_else(|| {
            let piece = self.pieces.iter().rfind(|piece| piece.from <= distance)?;
            Some(piece.base + piece.root * (distance as f64).sqrt() + piece.slope * distance as f64)
        });
        (ms.unwrap_or(0.0) * 1e6) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::disks::REGISTRY;

    /// Over all pairs of cylinders, each as likely.
    fn mean_ms(name: &str) -> f64 {
        let spec = REGISTRY.iter().find(|spec| spec.name == name).unwrap();
        let cylinders = spec.geometry.cylinders();
        let (mut sum, mut pairs) = (0.0, 0.0);
        for distance in 1..cylinders {
            let weight = (cylinders - distance) as f64;
            sum += weight * spec.seek.ns(distance) as f64 / 1e6;
            pairs += weight;
        }
        sum / pairs
    }

    #[test]
    fn averages_are_the_published_ones() {
        for (name, published_ms) in [("rz26", 10.5), ("rz56", 16.0), ("ibm0661", 12.5), ("disk10k", 4.9)] {
            let mean = mean_ms(name);
            assert!((mean - published_ms).abs() < 0.5, "{name}: {mean}");
        }
    }

    #[test]
    fn no_curve_falls_by_more_than_its_wiggles() {
        for spec in REGISTRY {
            assert_eq!(spec.seek.ns(0), 0);
            for distance in 1..spec.geometry.cylinders() - 1 {
                let (here, next) = (spec.seek.ns(distance), spec.seek.ns(distance + 1));
                assert!(here > 0 && next + 200_000 > here, "{} at {distance}: {here} then {next}", spec.name);
            }
        }
    }
}

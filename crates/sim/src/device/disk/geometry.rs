//! Where a sector lies: logical number to cylinder, surface and angle.
//!
//! Sectors are numbered along a track, then down the cylinder from surface to surface, then
//! inwards. Outer zones hold more sectors a track. Spare sectors end each track and spare cylinders
//! end each zone; some of the first zone is the drive's own. A track begins a few sectors further
//! round than the one before (skew), so that a head that has just been switched, or an arm that has
//! just moved by one, comes in time for it.
//!
//! Worked example: 2 surfaces, 10 sectors a track, skews of 3 (track) and 5 (cylinder).
//!
//! ```text
//! sector   0..9   cylinder 0, surface 0, begins at angle 0
//! sector  10..19  cylinder 0, surface 1, begins at angle 3/10 of a turn
//! sector  20..29  cylinder 1, surface 0, begins at angle 8/10
//! ```

/// Neighbouring cylinders with as many sectors on each track.
#[derive(Debug, PartialEq)]
pub struct Zone {
    /// Cylinders, the spare ones included.
    pub cylinders: u64,
    /// The last of them that hold no data.
    pub spare_cylinders: u64,
    /// Sectors that pass under the head in one turn.
    pub sectors: u64,
    /// How many sectors further round the next surface's track begins.
    pub track_skew: u64,
    /// The same for the next cylinder's first track.
    pub cylinder_skew: u64,
}

/// A disk's layout.
#[derive(Debug, PartialEq)]
pub struct Geometry {
    /// Surfaces that hold data.
    pub surfaces: u64,
    /// Zones, outermost first.
    pub zones: &'static [Zone],
    /// The last sectors of each track that hold no data.
    pub spare_sectors: u64,
    /// The first sectors of the disk, its own.
    pub reserved: u64,
}

/// A track, and the sectors it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track {
    /// Counted from the outermost.
    pub cylinder: u64,
    /// Counted from 0.
    pub surface: u64,
    /// The sector it begins with, reserved ones counted.
    pub first: u64,
    /// How many sectors of data.
    pub data: u64,
    /// How many sectors are one turn.
    pub turn: u64,
    /// Where it begins, in sectors round.
    pub angle: u64,
}

impl Geometry {
    fn zone_sectors(&self, zone: &Zone) -> u64 {
        (zone.cylinders - zone.spare_cylinders) * self.surfaces * (zone.sectors - self.spare_sectors)
    }

    /// Cylinders in all.
    pub fn cylinders(&self) -> u64 {
        self.zones.iter().map(|zone| zone.cylinders).sum()
    }

    /// Sectors of 512 bytes that can be addressed.
    pub fn sectors(&self) -> u64 {
        self.zones.iter().map(|zone| self.zone_sectors(zone)).sum::<u64>() - self.reserved
    }

    /// The track that holds a sector (reserved ones counted); the last one if there is no such
    /// sector.
    pub fn track(&self, sector: u64) -> Track {
        let (mut first, mut cylinder) = (0, 0);
        let mut within = &self.zones[0];
        for zone in self.zones {
            within = zone;
            let size = self.zone_sectors(zone);
            if sector < first + size {
                break;
            }
            first += size;
            cylinder += zone.cylinders;
        }
        let data = within.sectors - self.spare_sectors;
        let track = (sector - first) / data;
        let (down, surface) = (track / self.surfaces, track % self.surfaces);
        let skew =
            down * (within.cylinder_skew + (self.surfaces - 1) * within.track_skew) + surface * within.track_skew;
        Track {
            cylinder: cylinder + down,
            surface,
            first: first + track * data,
            data,
            turn: within.sectors,
            angle: skew % within.sectors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::disks::REGISTRY;
    use super::*;

    #[test]
    fn the_worked_example() {
        const SMALL: Zone = Zone { cylinders: 3, spare_cylinders: 0, sectors: 10, track_skew: 3, cylinder_skew: 5 };
        let geometry = Geometry { surfaces: 2, zones: &[SMALL], spare_sectors: 0, reserved: 0 };
        let at = |sector| {
            let track = geometry.track(sector);
            (track.cylinder, track.surface, track.first, track.angle)
        };
        assert_eq!(
            [0, 9, 10, 20, 35].map(at),
            [(0, 0, 0, 0), (0, 0, 0, 0), (0, 1, 10, 3), (1, 0, 20, 8), (1, 1, 30, 1)]
        );
        assert_eq!(geometry.sectors(), 60);
    }

    #[test]
    fn capacities_are_the_published_ones() {
        // The RZ26 has one more; see `disks` for where its tracks begin.
        for (name, sectors) in [("hp2247", 2_054_864), ("rz26", 2_050_860 - 1), ("ibm0661", 949 * 14 * 48)] {
            let spec = REGISTRY.iter().find(|spec| spec.name == name).unwrap();
            assert_eq!(spec.geometry.sectors(), sectors, "{name}");
        }
    }

    #[test]
    fn tracks_follow_one_another_without_gap() {
        for spec in REGISTRY {
            let geometry = &spec.geometry;
            let (mut sector, mut before) = (0, geometry.track(0));
            while sector < geometry.sectors() + geometry.reserved {
                let track = geometry.track(sector);
                assert_eq!((track.first, geometry.track(sector + track.data - 1)), (sector, track), "{}", spec.name);
                assert!((before.cylinder, before.surface) <= (track.cylinder, track.surface));
                sector += track.data;
                before = track;
            }
            assert!(before.cylinder < geometry.cylinders());
        }
    }
}

//! A column of values that costs no memory for as long as they are all the same.

/// Values by position.
#[derive(Debug, Clone, Default)]
pub(crate) struct Column<T> {
    /// The value of all, while `values` is empty.
    same: T,
    len: usize,
    values: Vec<T>,
}

impl<T: Copy + PartialEq + Default> Column<T> {
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.len == 0 {
            self.same = value;
        } else if self.values.is_empty() && value != self.same {
            self.values = vec![self.same; self.len];
        }
        if !self.values.is_empty() {
            self.values.push(value);
        }
        self.len += 1;
    }

    /// What was pushed last; the default if nothing was.
    pub(crate) fn last(&self) -> T {
        self.values.last().copied().unwrap_or(self.same)
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> T {
        self.values.get(at).copied().unwrap_or(self.same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_there() {
        for pushed in [vec![], vec![5], vec![5, 5, 5], vec![5, 5, 6, 5], vec![0, 1]] {
            let mut column = Column::default();
            pushed.iter().for_each(|&value| column.push(value));
            let got: Vec<u32> = (0..pushed.len()).map(|at| column.get(at)).collect();
            assert_eq!(got, pushed);
        }
    }
}

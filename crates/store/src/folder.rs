//! Names as folders.

use std::io;

use crate::{Error, Listed};

/// What lies directly in a folder, or a page of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Objects, by their full names.
    pub objects: Vec<Listed>,
    /// Names that others go on from by a slash, which is left out here.
    pub folders: Vec<String>,
    /// What leads to the next page, if there is one.
    pub next: Option<String>,
}

impl Folder {
    /// Of a store that has folders in one page each: none that is there leads to another one.
    ///
    /// # Errors
    /// If a word leads somewhere.
    pub fn refuse_page(page: Option<&str>) -> Result<(), Error> {
        let Some(page) = page else { return Ok(()) };
        let why = format!("there is no page '{page}', as this store has folders in one page each: ask for the first");
        Err(io::Error::new(io::ErrorKind::InvalidInput, why).into())
    }

    /// The folder that these objects make, whose names begin with the prefix and are in order.
    pub fn of(prefix: &str, objects: Vec<Listed>) -> Self {
        let mut folder = Folder::default();
        for object in objects {
            match object.name[prefix.len()..].find('/') {
                None => folder.objects.push(object),
                Some(at) => {
                    let name = &object.name[..prefix.len() + at];
                    if folder.folders.last().is_none_or(|last| last != name) {
                        folder.folders.push(name.to_owned());
                    }
                }
            }
        }
        folder
    }
}

#[cfg(test)]
mod tests {
    use crate::{Local, Memory, Store};

    #[test]
    fn where_there_is_one_page_there_is_no_other() {
        for store in [&Memory::default() as &dyn Store, &Local::new()] {
            let error = store.folder("/", Some("2")).unwrap_err();
            assert!(error.to_string().starts_with("there is no page '2'"), "{error}");
        }
    }

    #[test]
    fn what_lies_deeper_is_one_folder() {
        let store = Memory::default();
        for name in ["a", "d", "d-1", "d/1", "d/2", "d/e/3", "e/4"] {
            store.put(name, name.as_bytes());
        }
        let names = |prefix: &str| {
            let folder = store.folder(prefix, None).unwrap();
            (folder.objects.into_iter().map(|it| it.name).collect::<Vec<_>>(), folder.folders)
        };
        let of = |words: &[&str]| words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(""), (of(&["a", "d", "d-1"]), of(&["d", "e"])));
        assert_eq!(names("d/"), (of(&["d/1", "d/2"]), of(&["d/e"])));
        assert_eq!(names("d"), (of(&["d", "d-1"]), of(&["d"])));
    }
}

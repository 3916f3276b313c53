//! Pages of names, as S3 lists them (version 2).

/// An object, as it is listed.
pub struct Key {
    pub name: String,
    pub size: usize,
    /// None is listed as an empty one, as some servers do.
    pub tag: String,
    /// The day of January 2025 on which it was changed last.
    pub day: u64,
}

/// `keys` has those from a name on, in order.
pub fn page<K: Iterator<Item = Key>>(keys: impl FnOnce(&str) -> K, query: &str, length: usize) -> Vec<u8> {
    let said = |name: &str| {
        let of = |part: &str| Some(part.strip_prefix(name)?.strip_prefix('=')?.to_owned());
        query.split('&').find_map(of).unwrap_or_default()
    };
    let (prefix, after, delimiter) = (said("prefix"), said("continuation-token"), said("delimiter"));
    let keys = keys(after.as_str().max(&prefix)).take_while(|key| key.name.starts_with(&prefix));
    let (mut last, mut items, mut is_more) = (String::new(), String::new(), false);
    let mut count = 0;
    for key in keys {
        let end = Some(&delimiter).filter(|it| !it.is_empty()).and_then(|it| key.name[prefix.len()..].find(&**it));
        let item = end.map_or(&key.name[..], |at| &key.name[..=prefix.len() + at]);
        // What lies below a delimiter is one item, named once.
        if *item <= *after || item == last {
            continue;
        }
        is_more = count == length;
        if is_more {
            break;
        }
        count += 1;
        item.clone_into(&mut last);
        items += &match end {
            Some(_) => format!("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escaped(item)),
            None => format!(
                "<Contents><Key>{}</Key><LastModified>2025-01-{:02}T00:00:00.000Z</LastModified>\
                 <ETag>{}</ETag><Size>{}</Size></Contents>",
                escaped(item),
                key.day,
                key.tag,
                key.size
            ),
        };
    }
    let next = match is_more {
        true => format!("<NextContinuationToken>{}</NextContinuationToken>", escaped(&last)),
        false => String::new(),
    };
    format!("<ListBucketResult><IsTruncated>{is_more}</IsTruncated>{items}{next}</ListBucketResult>").into_bytes()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

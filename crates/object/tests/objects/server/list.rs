//! Pages of names, as S3 lists them (version 2).

/// So few that a test has several pages.
const KEYS_OF_A_PAGE: usize = 2;

pub fn page(keys: impl Iterator<Item = (String, usize)>, query: &str) -> Vec<u8> {
    let said = |name: &str| {
        let of = |part: &str| Some(part.strip_prefix(name)?.strip_prefix('=')?.to_owned());
        query.split('&').find_map(of).unwrap_or_default()
    };
    let (prefix, after) = (said("prefix"), said("continuation-token"));
    let wanted: Vec<_> = keys.filter(|(key, _)| key.starts_with(&prefix) && *key > after).collect();
    let (now, later) = wanted.split_at(KEYS_OF_A_PAGE.min(wanted.len()));
    let contents: String = now
        .iter()
        .map(|(key, size)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2025-01-01T00:00:00.000Z</LastModified>\
                 <ETag>\"g\"</ETag><Size>{size}</Size></Contents>"
            )
        })
        .collect();
    let next = match (later.is_empty(), now.last()) {
        (false, Some((last, _))) => format!("<NextContinuationToken>{last}</NextContinuationToken>"),
        _ => String::new(),
    };
    let is_more = !later.is_empty();
    format!("<ListBucketResult><IsTruncated>{is_more}</IsTruncated>{contents}{next}</ListBucketResult>").into_bytes()
}

"""What is kept of a recording: the application's own files, under names without the machine's folders, in the order of the requests.

Times, threads and processes go: the paper's machine had others. Requests that continue one another become one. The paper's blocks
and their order come out of both the same.
"""

import pyarrow as pa
import pyarrow.parquet as pq


def trim(raw, folder, name_of, trace):
    """Writes what of the recording lies in the folder; `name_of` gives a file's name, or None to leave it out. Returns its rows."""
    columns = pq.read_table(raw, columns=["file", "offset", "length", "write"]).to_pydict()
    prefix, rows, names = f"{folder}/", [], {}
    for file, offset, length, write in zip(*columns.values()):
        if file not in names:
            names[file] = name_of(file.removeprefix(prefix)) if file.startswith(prefix) else None
        if (name := names[file]) is None:
            continue
        if rows and (rows[-1][0], rows[-1][1] + rows[-1][2], rows[-1][3]) == (name, offset, write):
            rows[-1][2] += length
        else:
            rows.append([name, offset, length, write])
    file, offset, length, write = zip(*rows)
    types = {"file": pa.string(), "offset": pa.int64(), "length": pa.int64(), "write": pa.int32()}
    schema = pa.schema([pa.field(column, kind, nullable=False) for column, kind in types.items()])
    arrays = [pa.array(it, kind) for it, kind in zip((file, offset, length, write), types.values())]
    table = pa.Table.from_arrays(arrays, schema=schema)
    packed = {"offset": "DELTA_BINARY_PACKED", "length": "DELTA_BINARY_PACKED"}
    pq.write_table(table, trace, compression="zstd", compression_level=19, use_dictionary=["file", "write"],
                   column_encoding=packed, write_statistics=False, store_schema=False)
    return len(rows)

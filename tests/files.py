"""Files as other programs write them."""

import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq


def write(table, path):
    """Write a table in the format of the path's ending, with Arrow's own writers; return the path."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        delimiter = {".csv": ",", ".tsv": "\t"}[path.suffix]
        pacsv.write_csv(table, path, pacsv.WriteOptions(delimiter=delimiter))
    return path

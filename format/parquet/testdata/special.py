import pyarrow as pa, pyarrow.parquet as pq, decimal, datetime, base64, sys
D=decimal.Decimal
out=sys.argv[1]
t=lambda *a: datetime.datetime(*a)
def table(nulls):
    n=None if nulls else 1
    d=lambda *v: [None if x is None else D(x) for x in v]
    cols={
     'd32':pa.array(d('1.25','-0.01','99999.99','0.00',n),pa.decimal128(7,2)),
     'd64':pa.array(d('123456789012.5','-0.5','0.1',n,'7.0'),pa.decimal128(15,1)),
     'd128':pa.array(d('12345678901234567890.123','-0.001',n,'0.1','2.5'),pa.decimal128(30,3)),
     'whole':pa.array(d('12','-3',n,'4','5'),pa.decimal128(9,0)),
     'when':pa.array([t(2024,2,29,12,30,1,500000),t(1969,12,31,23,59,59),t(1970,1,1),t(2300,1,1),None if nulls else t(1600,1,1)],pa.timestamp('us')),
    }
    if nulls: cols['none']=pa.nulls(5)
    return pa.table(cols)
pq.write_table(table(False),out+'/decimals.parquet',use_deprecated_int96_timestamps=True,store_decimal_as_integer=True,compression='none',store_schema=False)
pq.write_table(table(True),out+'/decimals_nulls.parquet',use_deprecated_int96_timestamps=True,use_dictionary=False,compression='none',data_page_version='2.0',store_schema=False)
pq.write_table(pa.table({'a':pa.array([0,1,4294967295,7],pa.uint32()),'b':pa.array([0,1,18446744073709551615,7],pa.uint64()),'c':pa.array([0,200,255,3],pa.uint8())}),out+'/unsigned_delta.parquet',use_dictionary=False,column_encoding='DELTA_BINARY_PACKED',compression='none',store_schema=False)
import pyarrow.parquet.encryption as pe
class K(pe.KmsClient):
    def __init__(s,c): pe.KmsClient.__init__(s)
    def wrap_key(s,k,m): return base64.b64encode(k)
    def unwrap_key(s,k,m): return base64.b64decode(k)
f=pe.CryptoFactory(lambda c:K(c))
e=pe.EncryptionConfiguration(footer_key='k',column_keys={'c':['x']},plaintext_footer=True)
tb=pa.table({'x':[1.,2.],'y':[3.,4.]})
with pq.ParquetWriter(out+'/encrypted_column.parquet',tb.schema,encryption_properties=f.file_encryption_properties(pe.KmsConnectionConfig(),e)) as w: w.write_table(tb)

"""What SQLAlchemy reflects of tables, and what its ORM and its Core read, a line each."""

import os

import sqlalchemy as sa
from sqlalchemy import orm

url = "postgresql+psycopg2://{PGUSER}@127.0.0.1:{PGPORT}/{PGDATABASE}".format(**os.environ)
engine = sa.create_engine(url, connect_args={"password": os.environ["PGPASSWORD"]})

inspector = sa.inspect(engine)
print("default schema:", inspector.default_schema_name)
for schema in ("public", "shop"):
    print("tables:", schema, sorted(inspector.get_table_names(schema=schema)), inspector.get_view_names(schema=schema))
    for table in sorted(inspector.get_table_names(schema=schema)):
        for column in inspector.get_columns(table, schema=schema):
            print("column:", table, column["name"], repr(column["type"]), column["nullable"], column["default"])
        key = inspector.get_pk_constraint(table, schema=schema)
        print("key:", table, key["name"], key["constrained_columns"])
        print("foreign keys:", table, inspector.get_foreign_keys(table, schema=schema))
        print("indexes:", table, inspector.get_indexes(table, schema=schema))
        print("unique:", table, inspector.get_unique_constraints(table, schema=schema))
        print("checks:", table, inspector.get_check_constraints(table, schema=schema))
        print("has:", inspector.has_table(table, schema=schema), inspector.has_table(table + "x", schema=schema))

metadata = sa.MetaData()
metadata.reflect(bind=engine)
metadata.reflect(bind=engine, schema="shop")
print("reflected:", sorted(metadata.tables))

orders, lines = metadata.tables["orders"], metadata.tables["shop.lines"]
with engine.connect() as connection:
    rows = connection.execute(sa.select(orders).where(orders.c.id.in_([3, 5])).order_by(orders.c.id)).all()
    print("core:", [tuple(row) for row in rows])
    grouped = (
        sa.select(orders.c.customer, sa.func.count(), sa.func.sum(orders.c.price).label("total"))
        .group_by(orders.c.customer)
        .having(sa.func.count() > 5)
        .order_by(sa.desc("total"))
        .limit(3)
    )
    print("grouped:", [tuple(row) for row in connection.execute(grouped)])
    joined = sa.select(orders.c.id, lines.c.item, lines.c.token).join(lines, lines.c.order_id == orders.c.id)
    print("joined:", [tuple(row) for row in connection.execute(joined)])
    case = sa.case((orders.c.open, "open"), else_="closed").label("state")
    counted = sa.select(case, sa.func.count()).group_by(case).order_by(case)
    print("case:", [tuple(row) for row in connection.execute(counted)])

Base = orm.declarative_base(metadata=metadata)


class Order(Base):
    __table__ = orders


class Line(Base):
    __table__ = lines
    order = orm.relationship(Order, primaryjoin=orm.foreign(lines.c.order_id) == orders.c.id, backref="lines")


with orm.Session(engine) as session:
    order = session.get(Order, 1)
    print("orm:", order.customer, order.price, order.placed, order.tags, [line.item for line in order.lines])
    eager = sa.select(Order).options(orm.joinedload(Order.lines)).where(Order.day < "2026-01-05").order_by(Order.id)
    print("eager:", [(order.id, len(order.lines)) for order in session.execute(eager).unique().scalars()])
    print("count:", session.query(Order).filter(Order.customer.like("%3")).count())
    page = session.query(Order).order_by(Order.weight.desc()).offset(10).limit(3)
    print("page:", [order.id for order in page])

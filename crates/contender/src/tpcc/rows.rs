//! The rows of the nine tables, clause 1.3.

/// Microseconds since 1970-01-01 UTC.
pub type Time = i64;

/// A row of any table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// WAREHOUSE.
    Warehouse(Warehouse),
    /// DISTRICT.
    District(District),
    /// CUSTOMER.
    Customer(Box<Customer>),
    /// HISTORY.
    History(History),
    /// ORDER.
    Order(Order),
    /// NEW-ORDER.
    NewOrder(NewOrder),
    /// ORDER-LINE.
    OrderLine(OrderLine),
    /// ITEM.
    Item(Item),
    /// STOCK.
    Stock(Box<Stock>),
}

/// Where somebody is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// First line.
    pub street_1: String,
    /// Second line.
    pub street_2: String,
    /// City.
    pub city: String,
    /// Two letters.
    pub state: String,
    /// Nine digits.
    pub zip: String,
}

/// WAREHOUSE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warehouse {
    /// Key.
    pub id: i16,
    /// Name.
    pub name: String,
    /// Address.
    pub address: Address,
    /// Ten-thousandths.
    pub tax: i16,
    /// Cents.
    pub ytd: i64,
}

/// DISTRICT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct District {
    /// Key.
    pub warehouse: i16,
    /// Key.
    pub id: i16,
    /// Name.
    pub name: String,
    /// Address.
    pub address: Address,
    /// Ten-thousandths.
    pub tax: i16,
    /// Cents.
    pub ytd: i64,
    /// The next order's number.
    pub next_order: i32,
}

/// CUSTOMER.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Customer {
    /// Key.
    pub warehouse: i16,
    /// Key.
    pub district: i16,
    /// Key.
    pub id: i32,
    /// First name.
    pub first: String,
    /// Middle name.
    pub middle: String,
    /// Last name.
    pub last: String,
    /// Address.
    pub address: Address,
    /// Sixteen digits.
    pub phone: String,
    /// When the customer came.
    pub since: Time,
    /// Good, or bad.
    pub credit: String,
    /// Cents.
    pub credit_limit: i64,
    /// Ten-thousandths.
    pub discount: i16,
    /// Cents.
    pub balance: i64,
    /// Cents.
    pub ytd_payment: i64,
    /// Payments.
    pub payments: i32,
    /// Deliveries.
    pub deliveries: i32,
    /// Up to 500 characters.
    pub data: String,
}

/// HISTORY, which has no key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Whose payment.
    pub customer: i32,
    /// Whose payment.
    pub customer_district: i16,
    /// Whose payment.
    pub customer_warehouse: i16,
    /// Where it was paid.
    pub district: i16,
    /// Where it was paid.
    pub warehouse: i16,
    /// When.
    pub date: Time,
    /// Cents.
    pub amount: i64,
    /// Names of warehouse and district.
    pub data: String,
}

/// ORDER.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Key.
    pub warehouse: i16,
    /// Key.
    pub district: i16,
    /// Key.
    pub id: i32,
    /// Who ordered.
    pub customer: i32,
    /// When.
    pub entry_date: Time,
    /// `None` until it is delivered.
    pub carrier: Option<i16>,
    /// Order lines.
    pub lines: i16,
    /// Whether all lines are supplied by the order's own warehouse.
    pub is_all_local: bool,
}

/// NEW-ORDER: an order that is not delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewOrder {
    /// Key.
    pub warehouse: i16,
    /// Key.
    pub district: i16,
    /// Key.
    pub order: i32,
}

/// ORDER-LINE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderLine {
    /// Key.
    pub warehouse: i16,
    /// Key.
    pub district: i16,
    /// Key.
    pub order: i32,
    /// Key: 1, 2 and so on.
    pub number: i16,
    /// What was ordered.
    pub item: i32,
    /// Whose stock.
    pub supply_warehouse: i16,
    /// `None` until it is delivered.
    pub delivery_date: Option<Time>,
    /// Pieces.
    pub quantity: i16,
    /// Cents.
    pub amount: i64,
    /// 24 characters.
    pub district_info: String,
}

/// ITEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Key.
    pub id: i32,
    /// A picture's number.
    pub image: i32,
    /// Name.
    pub name: String,
    /// Cents.
    pub price: i64,
    /// Up to 50 characters.
    pub data: String,
}

/// STOCK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// Key.
    pub warehouse: i16,
    /// Key.
    pub item: i32,
    /// Pieces.
    pub quantity: i16,
    /// 24 characters for each district.
    pub district_infos: [String; 10],
    /// Pieces sold.
    pub ytd: i32,
    /// Order lines.
    pub orders: i32,
    /// Order lines of other warehouses.
    pub remote_orders: i32,
    /// Up to 50 characters.
    pub data: String,
}

//! A value that its column cannot hold: the column becomes text, by a copy.

use super::shapes::batches;
use super::*;

/// The column types of the tree that is made first in these batches.
fn created(batches: &[ChangeBatch]) -> Vec<ColumnType> {
    let mut changes = batches.iter().flat_map(|batch| &batch.changes);
    let schema = changes.find_map(|change| match change {
        TableChange::Create { schema, .. } => Some(schema),
        _ => None,
    });
    let columns = schema.map_or(&[][..], |schema| &schema.columns);
    columns.iter().map(|c| c.column_type).collect()
}

/// Changes that have met a value which is no integer, and the batches that came of it.
fn after_odd_value(catalog: &FakeCatalog) -> (Changes, Vec<ChangeBatch>) {
    let mut changes = changes_beside(catalog);
    let odd = write::insert(KEYED, &[Text("NaN"), Null]);
    take(&mut changes, &[write::begin(100), odd]);
    let out = batches(&mut changes);
    (changes, out)
}

#[test]
fn the_table_is_copied_with_the_column_as_text() {
    let (mut changes, out) = after_odd_value(&FakeCatalog::default());
    assert_eq!(created(&out), [ColumnType::Text, ColumnType::Text]);
    let order = changes.take_copies().pop().expect("a copy");
    assert!(order.published.columns[0].as_text && !order.published.columns[1].as_text);
    assert!(changes.take_warnings()[0].contains("column \"id\""));
    // The copy's tree takes what comes after.
    let odd = write::insert(KEYED, &[Text("Infinity"), Null]);
    take(&mut changes, &[odd, write::commit(100)]);
    let end = changes.take_batch();
    let id = rows(&end.changes[0]).columns[0].as_string::<i32>().value(0);
    assert_eq!(id, "Infinity");
}

#[test]
fn it_stays_text_until_the_operator_has_the_table_copied() {
    let catalog = FakeCatalog::default();
    let (mut changes, _) = after_odd_value(&catalog);
    let again = [keyed_relation(), write::commit(100)];
    take(&mut changes, &again);
    assert!(batches(&mut changes).is_empty(), "the shape is the same");
    let tree = changes.take_copies().pop().expect("a copy").table;
    changes
        .copied(tree, CopyOutcome::Changed)
        .expect("the catalog answers");
    assert_eq!(created(&batches(&mut changes))[0], ColumnType::Text);
    let name = published(KEYED, "keyed", true).name;
    changes.resync(&name).expect("an answer").expect("a copy");
    assert_eq!(created(&batches(&mut changes))[0], ColumnType::Int32);
}

#[test]
fn a_copy_that_finds_such_a_value_begins_again_with_text() {
    let mut changes = changes();
    let name = published(KEYED, "keyed", true).name;
    changes.resync(&name).expect("an answer").expect("a copy");
    batches(&mut changes);
    let tree = changes.take_copies().pop().expect("a copy").table;
    let found = CopyOutcome::TextNeeded("id".to_owned());
    changes.copied(tree, found).expect("the catalog answers");
    assert_eq!(created(&batches(&mut changes))[0], ColumnType::Text);
}

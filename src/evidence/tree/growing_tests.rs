//! Growing leaf by leaf, in batches and at once gives one tree.

use proptest::prelude::*;

use super::*;
use crate::evidence::tree::reference::{append, leaves, mth, record, tiles};
use crate::evidence::tree::{TileSet, right_edge, root};

/// Where tiles and their levels begin and end.
const CORNERS: [usize; 9] = [0, 1, 255, 256, 257, 65_535, 65_536, 65_537, 70_000];

#[test]
fn every_size_grows_by_one() {
    let leaves = leaves(600);
    let mut stored = TileSet::new();
    for size in 0..600 {
        let grown = append(&mut stored, size as u64, &leaves[size..=size]);
        assert_eq!(grown.size, size as u64 + 1);
        assert_eq!(grown.root, mth(&leaves[..=size]), "size {size}");
        assert_eq!(stored, tiles(&leaves[..=size]), "size {size}");
    }
}

#[test]
fn corners_grow_from_one_to_the_next() {
    let leaves = leaves(70_000);
    let mut stored = TileSet::new();
    for pair in CORNERS.windows(2) {
        let grown = append(&mut stored, pair[0] as u64, &leaves[pair[0]..pair[1]]);
        let reference = tiles(&leaves[..pair[1]]);
        assert_eq!(grown.root, mth(&leaves[..pair[1]]), "size {}", pair[1]);
        assert_eq!(stored, reference, "size {}", pair[1]);
        assert!(grown.tiles.iter().all(|tile| reference.get(tile.id()) == Some(tile)), "in their last form only");
        assert_eq!(root(grown.size, &stored), Ok(grown.root));
    }
}

#[test]
fn seventy_thousand_leaves_have_the_tiles_that_c2sp_names() {
    let mut stored = TileSet::new();
    let grown = append(&mut stored, 0, &leaves(70_000));
    let (full, partial): (Vec<&Tile>, Vec<&Tile>) = grown.tiles.iter().partition(|tile| tile.is_full());
    let on = |level| full.iter().filter(|tile| tile.id().level == level).count();
    assert_eq!((on(0), on(1), on(2)), (273, 1, 0));
    let partial: Vec<(TileId, usize)> = partial.iter().map(|tile| (tile.id(), tile.hashes().len())).collect();
    let id = |level, index| TileId { level, index };
    assert_eq!(partial, [(id(0, 273), 112), (id(1, 1), 17), (id(2, 0), 1)]);
}

#[test]
fn what_did_not_change_is_not_written() {
    let leaves = leaves(70_001);
    let mut stored = tiles(&leaves[..70_000]);
    assert_eq!(append(&mut stored.clone(), 70_000, &[]).tiles, []);
    let one = append(&mut stored, 70_000, &leaves[70_000..]);
    let ids: Vec<TileId> = one.tiles.iter().map(Tile::id).collect();
    assert_eq!(ids, [TileId { level: 0, index: 273 }]);
}

#[test]
fn nothing_grows_to_nothing() {
    let grown = Growing::new(0, Vec::new()).unwrap().finish();
    assert_eq!(grown, Grown { size: 0, root: empty_root(), tiles: Vec::new() });
}

#[test]
fn tiles_that_do_not_fit_the_size_are_refused() {
    let all = tiles(&leaves(600));
    let tile = |level, index, width| {
        let id = TileId { level, index };
        Tile::new(id, all.get(id).unwrap().hashes()[..width].to_vec()).unwrap()
    };
    let refused = |size, tiles: Vec<Tile>| Growing::new(size, tiles).map(|growing| growing.size()).unwrap_err();
    let (lowest, upper) = (TileId { level: 0, index: 2 }, TileId { level: 1, index: 0 });
    assert!(Growing::new(600, vec![tile(1, 0, 2), tile(0, 2, 88)]).is_ok());
    assert_eq!(refused(600, vec![tile(0, 2, 88)]), TreeError::Missing(upper));
    assert_eq!(refused(600, vec![tile(1, 0, 2)]), TreeError::Missing(lowest));
    assert_eq!(refused(599, vec![tile(0, 2, 88), tile(1, 0, 2)]), TreeError::Misfit(lowest));
    assert_eq!(refused(600, vec![tile(0, 2, 88), tile(1, 0, 1)]), TreeError::Misfit(upper));
    let twice = vec![tile(0, 2, 88), tile(1, 0, 2), tile(0, 2, 88)];
    assert_eq!(refused(600, twice), TreeError::Misfit(lowest));
    assert_eq!(refused(512, vec![tile(0, 1, 256), tile(1, 0, 2)]), TreeError::Misfit(TileId { level: 0, index: 1 }));
    assert_eq!(refused(0, vec![tile(0, 0, 1)]), TreeError::Misfit(TileId { level: 0, index: 0 }));
    assert_eq!(refused(MAX_SIZE, Vec::new()), TreeError::TooLarge(MAX_SIZE));
    assert_eq!(refused(u64::MAX, Vec::new()), TreeError::TooLarge(u64::MAX));
}

#[test]
fn a_tree_that_is_taken_up_has_its_old_root() {
    let leaves = leaves(70_000);
    for size in CORNERS {
        let stored = tiles(&leaves[..size]);
        let edge = right_edge(size as u64).into_iter().map(|id| stored.get(id).unwrap().clone()).collect();
        let mut growing = Growing::new(size as u64, edge).unwrap();
        assert_eq!(growing.root(), mth(&leaves[..size]), "size {size}");
        growing.push(&record(size));
        assert_eq!(growing.size(), size as u64 + 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn batches_do_not_show(batches in proptest::collection::vec(0_usize..700, 0..8)) {
        let total = batches.iter().sum();
        let leaves = leaves(total);
        let mut stored = TileSet::new();
        let mut size = 0;
        let mut last = empty_root();
        for batch in batches {
            let grown = append(&mut stored, size as u64, &leaves[size..size + batch]);
            size += batch;
            prop_assert_eq!(grown.size, size as u64);
            last = grown.root;
        }
        prop_assert_eq!(last, mth(&leaves));
        prop_assert_eq!(stored, tiles(&leaves));
    }
}

//! The stored form of tiles, and which of them a size has.

use super::*;

const ID: TileId = TileId { level: 1, index: 7 };

#[test]
fn bytes_come_back_as_the_tile_they_were() {
    for width in [1_u8, 2, 255] {
        let hashes: Vec<Digest> = (0..width).map(|i| Digest::from_bytes([i; 32])).collect();
        let tile = Tile::new(ID, hashes).unwrap();
        assert_eq!(tile.to_bytes().len(), usize::from(width) * 32);
        assert!(!tile.is_full());
        assert_eq!(Tile::from_bytes(ID, &tile.to_bytes()), Ok(tile));
    }
    assert!(Tile::from_bytes(ID, &[1; 8192]).unwrap().is_full());
}

#[test]
fn other_lengths_are_no_tile() {
    for length in [0, 1, 31, 33, 63, 8191, 8193, 8224] {
        assert_eq!(Tile::from_bytes(ID, &vec![0; length]), Err(TreeError::Length(length)));
    }
    assert_eq!(Tile::new(ID, Vec::new()), Err(TreeError::Length(0)));
    assert_eq!(Tile::new(ID, vec![Digest::ZERO; 257]), Err(TreeError::Length(8224)));
}

#[test]
fn the_right_edge_is_what_is_not_full() {
    let edge = |size| partial_tiles(size).map(|(id, width)| (id.level, id.index, width)).collect::<Vec<_>>();
    assert_eq!(edge(0), []);
    assert_eq!(edge(1), [(0, 0, 1)]);
    assert_eq!(edge(255), [(0, 0, 255)]);
    assert_eq!(edge(256), [(1, 0, 1)]);
    assert_eq!(edge(257), [(0, 1, 1), (1, 0, 1)]);
    assert_eq!(edge(65_535), [(0, 255, 255), (1, 0, 255)]);
    assert_eq!(edge(65_536), [(2, 0, 1)]);
    // The example of C2SP tlog-tiles.
    assert_eq!(edge(70_000), [(0, 273, 112), (1, 1, 17), (2, 0, 1)]);
    assert_eq!(edge(1 << 63), [(7, 0, 128)]);
    assert_eq!(edge(u64::MAX).len(), 8);
}

#[test]
fn a_hash_that_is_not_there_is_said_to_be_missing() {
    let tiles: TileSet = [Tile::new(ID, vec![Digest::ZERO; 3]).unwrap()].into_iter().collect();
    let subtree = |hash: u64, level| Subtree { start: (7 * 256 + hash) << 8, level };
    assert!(tiles.hash_of(subtree(2, 8)).is_ok());
    assert_eq!(tiles.hash_of(subtree(3, 8)), Err(TreeError::Narrow(ID)));
    assert_eq!(tiles.hash_of(subtree(2, 9)), Err(TreeError::Narrow(ID)));
    assert_eq!(tiles.hash_of(subtree(256, 8)), Err(TreeError::Missing(TileId { level: 1, index: 8 })));
}

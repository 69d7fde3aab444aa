//! Tests of params, which are made, saved and opened. Their tensors share elements with the set.
use common::{Directory, expect};
use opdyno::*;

mod common;

fn sample() -> Result<Params> {
    let mut params = Params::new()?;
    params.set("w", &Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], [2, 3])?)?;
    params.set("größe", &Tensor::scalar(3_i64)?)?;
    params.set("none", &Tensor::zeros([0, 2], DType::FLOAT16, Device::CPU)?)?;
    Ok(params)
}

fn check(params: &Params) -> Result<()> {
    assert_eq!(params.get("w")?.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((params.get("w")?.shape(), params.get("größe")?.as_slice::<i64>()?), (&[2_i64, 3][..], &[3][..]));
    assert_eq!((params.get("none")?.shape(), params.get("none")?.dtype()), (&[0_i64, 2][..], DType::FLOAT16));
    let mut names = params.names()?;
    names.sort();
    assert_eq!((names, params.len(), params.is_empty()), (vec!["größe".into(), "none".into(), "w".into()], 3, false));
    assert_eq!(params.stats()?.total_bytes, 24 + 8);
    Ok(())
}

#[test]
fn a_set_is_made_by_hand() -> Result<()> {
    let mut params = sample()?;
    check(&params)?;
    let info = params.info(0)?;
    assert_eq!((info.name.as_str(), info.shape.as_slice(), info.dtype), ("w", &[2_i64, 3][..], DType::FLOAT32));
    assert_eq!((info.size_in_bytes, info.is_view), (24, false));
    expect(params.info(3), Code::OutOfRange, "3");
    expect(params.get("ww"), Code::NotFound, "w");
    expect(params.get("a\0b"), Code::InvalidArgument, "NUL");
    params.set("w", &Tensor::scalar(1_u8)?)?;
    assert_eq!((params.names()?[0].as_str(), params.get("w")?.dtype()), ("w", DType::UINT8), "replaced in its place");
    assert!(Params::new()?.is_empty());
    Ok(())
}

#[test]
fn files_of_every_format_are_read_back() -> Result<()> {
    let (directory, params) = (Directory::new(), sample()?);
    for name in ["x.params", "x.npz", "x.safetensors"] {
        let path = directory.join(name);
        params.save(&path)?;
        check(&Params::open(&path)?)?;
        check(&unsafe { Params::map(&path, &ParamsOptions::new()) }?)?;
        check(&Params::from_bytes(std::fs::read(&path).expect("a file"), &ParamsOptions::new())?)?;
    }
    check(&Params::from_bytes(params.save_bytes()?, &ParamsOptions::new())?)?;
    expect(Params::open(directory.join("none.npz")), Code::NotFound, "none.npz");
    let mut damaged = params.save_bytes()?;
    damaged.truncate(damaged.len() - 10);
    expect(Params::from_bytes(damaged, &ParamsOptions::new()), Code::BadFormat, "");
    assert!(Params::from_bytes(Vec::new(), &ParamsOptions::new()).is_err());
    Ok(())
}

#[test]
fn options_say_how_a_file_is_opened() -> Result<()> {
    let (directory, mut params) = (Directory::new(), Params::new()?);
    params.set("w", &Tensor::zeros([1000], DType::FLOAT64, Device::CPU)?)?;
    let path = directory.join("x.npz");
    params.save(&path)?;
    let open = |options: ParamsOptions| Params::open_with(&path, &options);
    let viewed = unsafe { Params::map(&path, &ParamsOptions::new().prefetch(true)) }?;
    viewed.get("w")?;
    assert_eq!((viewed.stats()?.viewed_bytes, viewed.info(0)?.is_view), (8000, true));
    for copied in [open(ParamsOptions::new().copy(false))?, Params::open(&path)?] {
        assert_eq!((copied.stats()?.copied_bytes, copied.info(0)?.is_view), (8000, false));
    }
    let mut damaged = std::fs::read(&path).expect("a file");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&path, damaged).expect("written");
    open(ParamsOptions::new())?.get("w")?;
    expect(open(ParamsOptions::new().verify_checksums(true)), Code::BadFormat, "");
    Ok(())
}

/// Safe code may truncate a file. If the file were mapped, reading its tensors would end this process.
#[test]
fn a_file_that_was_opened_may_be_cut_short() -> Result<()> {
    let (directory, mut params) = (Directory::new(), Params::new()?);
    let elements: Vec<i64> = (0..100_000).collect();
    params.set("w", &Tensor::from_slice(&elements, [elements.len()])?)?;
    for name in ["x.npz", "x.safetensors", "x.params"] {
        let path = directory.join(name);
        params.save(&path)?;
        let opened = Params::open(&path)?;
        std::fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(10)).expect("cut short");
        assert_eq!(opened.get("w")?.as_slice::<i64>()?, elements);
    }
    Ok(())
}

/// A set shares the elements with the tensors that it returned.
#[test]
fn a_tensor_of_a_set_is_written_once_it_is_the_only_one() -> Result<()> {
    let params = Params::from_bytes(sample()?.save_bytes()?, &ParamsOptions::new())?;
    let (mut w, mut other) = (params.get("w")?, params.get("größe")?);
    expect(w.as_mut_slice::<f32>(), Code::FailedPrecondition, "something else");
    let mut again = params.get("w")?;
    drop(params);
    other.as_mut_slice::<i64>()?[0] = 4;
    assert_eq!(other.as_slice::<i64>()?, [4]);
    expect(w.as_mut_slice::<f32>(), Code::FailedPrecondition, "something else");
    expect(again.as_mut_slice::<f32>(), Code::FailedPrecondition, "something else");
    drop(again);
    w.as_mut_slice::<f32>()?[0] = 7.0;
    assert_eq!(w.to_vec::<f32>()?[1], 1.0);
    Ok(())
}

/// The header of a .safetensors file has any length, so elements may begin at any byte.
#[test]
fn elements_at_odd_places_of_a_file_are_read() -> Result<()> {
    for padding in 0..8 {
        let header = format!(r#"{{"x":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}}}{}"#, " ".repeat(padding));
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(&[1.5_f32.to_le_bytes(), 2.5_f32.to_le_bytes()].concat());
        let x = Params::from_bytes(file, &ParamsOptions::new())?.get("x")?;
        assert_eq!(x.to_vec::<f32>()?, [1.5, 2.5]);
        if let Ok(elements) = x.as_slice::<f32>() {
            assert!(elements.as_ptr().is_aligned());
        }
    }
    Ok(())
}

#[test]
fn threads_ask_one_set_at_once() -> Result<()> {
    let params = Params::from_bytes(sample()?.save_bytes()?, &ParamsOptions::new())?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check(&params).expect("the same for all"));
        }
    });
    Ok(())
}

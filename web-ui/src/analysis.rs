//! The worker that analyzes, seen from the page.
//!
//! One request at a time. A file is handed over as the browser's own handle,
//! so its bytes never pass through the page; bytes that the page does hold
//! are transferred, not copied.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_events::EventListener;
use js_sys::{Array, ArrayBuffer, Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

/// What to analyze.
#[derive(Clone)]
pub(crate) enum Source {
    /// A file of the user's, read in the worker.
    File(web_sys::File),
    /// Bytes the page holds; a copy is transferred.
    Bytes(Rc<[u8]>),
}

/// What the worker is asked to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// The report, as JSON text.
    Report,
    /// A small ELF file that yields the same report.
    Reproducer,
}

impl Task {
    fn name(self) -> &'static str {
        match self {
            Task::Report => "report",
            Task::Reproducer => "reproducer",
        }
    }
}

/// What the worker says about the request at hand.
pub(crate) enum Answer {
    /// Bytes read so far, and of how many.
    Progress { done: f64, total: f64 },
    /// The bytes are there; the analysis runs.
    Analyzing,
    /// The report, exactly as the analyzer wrote it.
    Report { json: String, read_ms: f64, analyze_ms: f64 },
    /// A reproducer.
    Reproducer(Vec<u8>),
    /// It did not work.
    Failed(Failure),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Stable code: `too-large`, `unreadable`, `out-of-memory`, `panic`, `worker`, …
    pub(crate) code: String,
    /// In words.
    pub(crate) message: String,
}

type Listener = Rc<dyn Fn(Answer)>;

/// The worker, rebuilt when it is cancelled or has failed.
#[derive(Clone)]
pub(crate) struct Analyzer(Rc<Inner>);

struct Inner {
    worker: RefCell<Option<Running>>,
    /// The compiled module, so that a rebuilt worker starts without loading.
    module: RefCell<Option<JsValue>>,
    listener: RefCell<Option<Listener>>,
    request: Cell<u32>,
}

struct Running {
    worker: Worker,
    _message: EventListener,
    _error: EventListener,
}

impl Analyzer {
    /// Starts the worker, so that it is warm when the first file comes.
    pub(crate) fn start() -> Self {
        let analyzer = Self(Rc::new(Inner {
            worker: RefCell::new(None),
            module: RefCell::new(None),
            listener: RefCell::new(None),
            request: Cell::new(0),
        }));
        analyzer.spawn();
        analyzer
    }

    /// Asks; `listener` hears until the last answer.
    ///
    /// A request that is still running is cancelled first.
    pub(crate) fn ask(&self, task: Task, source: &Source, name: &str, listener: Listener) {
        if self.0.listener.borrow().is_some() {
            self.cancel();
        }
        if self.0.worker.borrow().is_none() {
            self.spawn();
        }
        let request = self.0.request.get().wrapping_add(1);
        self.0.request.set(request);
        *self.0.listener.borrow_mut() = Some(listener);
        let message = Object::new();
        let transfer = Array::new();
        set(&message, "task", &task.name().into());
        set(&message, "request", &request.into());
        set(&message, "name", &name.into());
        match source {
            Source::File(file) => set(&message, "file", file),
            Source::Bytes(bytes) => {
                let buffer: ArrayBuffer = Uint8Array::from(&bytes[..]).buffer();
                set(&message, "buffer", &buffer);
                transfer.push(&buffer);
            }
        }
        let sent = self
            .0
            .worker
            .borrow()
            .as_ref()
            .is_some_and(|w| w.worker.post_message_with_transfer(&message, &transfer).is_ok());
        if !sent {
            self.fail("worker", "The analyzer's worker could not be started.");
        }
    }

    /// Ends the running request without an answer.
    pub(crate) fn cancel(&self) {
        if self.0.listener.borrow_mut().take().is_some() {
            self.stop();
            self.spawn();
        }
    }

    fn stop(&self) {
        if let Some(running) = self.0.worker.borrow_mut().take() {
            running.worker.terminate();
        }
    }

    fn spawn(&self) {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let Ok(worker) = Worker::new_with_options("worker.js", &options) else { return };
        let heard = self.clone();
        let message = EventListener::new(&worker, "message", move |event| {
            if let Some(event) = event.dyn_ref::<MessageEvent>() {
                heard.hear(&event.data());
            }
        });
        let heard = self.clone();
        let error = EventListener::new(&worker, "error", move |event| {
            let text = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).unwrap_or_default();
            heard.stop();
            heard.fail("worker", &format!("The analyzer's worker stopped. {text}"));
        });
        let start = Object::new();
        set(&start, "task", &"start".into());
        if let Some(module) = &*self.0.module.borrow() {
            set(&start, "module", module);
        }
        // A worker that cannot take a message says so in its error event.
        worker.post_message(&start).ok();
        *self.0.worker.borrow_mut() = Some(Running { worker, _message: message, _error: error });
    }

    fn hear(&self, data: &JsValue) {
        let kind = text(data, "kind");
        if kind == "ready" {
            *self.0.module.borrow_mut() = Reflect::get(data, &"module".into()).ok();
            return;
        }
        // What a request that was cancelled still had to say.
        if number(data, "request") != f64::from(self.0.request.get()) {
            return;
        }
        match kind.as_str() {
            "progress" => self.tell(Answer::Progress {
                done: number(data, "done"),
                total: number(data, "total"),
            }),
            "analyzing" => self.tell(Answer::Analyzing),
            "report" => self.finish(Answer::Report {
                json: text(data, "json"),
                read_ms: number(data, "readMs"),
                analyze_ms: number(data, "analyzeMs"),
            }),
            "reproducer" => {
                let bytes = Reflect::get(data, &"bytes".into()).unwrap_or_default();
                self.finish(Answer::Reproducer(Uint8Array::new(&bytes).to_vec()));
            }
            _ => {
                // After a panic the instance is not to be trusted.
                if matches!(text(data, "code").as_str(), "panic" | "trap") {
                    self.stop();
                }
                self.fail(&text(data, "code"), &text(data, "message"));
            }
        }
    }

    fn tell(&self, answer: Answer) {
        let listener = self.0.listener.borrow().clone();
        if let Some(listener) = listener {
            listener(answer);
        }
    }

    fn finish(&self, answer: Answer) {
        let listener = self.0.listener.borrow_mut().take();
        if let Some(listener) = listener {
            listener(answer);
        }
    }

    fn fail(&self, code: &str, message: &str) {
        self.finish(Answer::Failed(Failure { code: code.into(), message: message.into() }));
    }
}

fn set(object: &Object, name: &str, value: &JsValue) {
    // Setting a member of a fresh plain object cannot fail.
    Reflect::set(object, &name.into(), value).ok();
}

fn text(object: &JsValue, name: &str) -> String {
    Reflect::get(object, &name.into()).ok().and_then(|v| v.as_string()).unwrap_or_default()
}

fn number(object: &JsValue, name: &str) -> f64 {
    Reflect::get(object, &name.into()).ok().and_then(|v| v.as_f64()).unwrap_or_default()
}

//! [`AdmissionLayer`] and [`AdmissionService`]: each request a task of a wheel.
//!
//! A request is tried once: whether it may be repeated is not known here.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tidewheel::{Submission, Tidewheel};
use tower_layer::Layer;
use tower_service::Service;

use crate::admission::Admission;
use crate::error::{Error, Refusal};

/// Puts an [`AdmissionService`] around services.
pub struct AdmissionLayer<F, R = NeverFails> {
    wheel: Tidewheel,
    admission: Arc<F>,
    is_failure: R,
}

impl<F> AdmissionLayer<F> {
    /// Admits requests through this wheel, each as `admission` says. The layer keeps the wheel: it ends with
    /// it, or when it is shut down.
    pub fn new<Request>(wheel: Tidewheel, admission: F) -> Self
    where
        F: Fn(&Request) -> Admission,
    {
        Self { wheel, admission: Arc::new(admission), is_failure: NeverFails }
    }

    /// Counts some answers as failures, such as those with a status of 500 and more: for breakers and in the
    /// figures of the wheel. They are answers all the same.
    pub fn failure_if<Response, R>(self, is_failure: R) -> AdmissionLayer<F, FailsIf<R>>
    where
        R: Fn(&Response) -> bool,
    {
        let Self { wheel, admission, .. } = self;
        AdmissionLayer { wheel, admission, is_failure: FailsIf(Arc::new(is_failure)) }
    }
}

/// Says which answers count as failures.
pub trait Judge<Response>: Clone + Send + Sync + 'static {
    /// Whether this one does.
    fn is_failure(&self, response: &Response) -> bool;
}

/// No answer counts as a failure.
#[derive(Debug, Clone, Copy)]
pub struct NeverFails;

impl<Response> Judge<Response> for NeverFails {
    fn is_failure(&self, _: &Response) -> bool {
        false
    }
}

/// Answers count as failures by a rule; made by [`AdmissionLayer::failure_if`].
pub struct FailsIf<R>(Arc<R>);

impl<R> Clone for FailsIf<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Response, R> Judge<Response> for FailsIf<R>
where
    R: Fn(&Response) -> bool + Send + Sync + 'static,
{
    fn is_failure(&self, response: &Response) -> bool {
        (self.0)(response)
    }
}

impl<F, R: Clone> Clone for AdmissionLayer<F, R> {
    fn clone(&self) -> Self {
        let (wheel, admission) = (self.wheel.clone(), Arc::clone(&self.admission));
        Self { wheel, admission, is_failure: self.is_failure.clone() }
    }
}

impl<S, F, R: Clone> Layer<S> for AdmissionLayer<F, R> {
    type Service = AdmissionService<S, F, R>;

    fn layer(&self, inner: S) -> Self::Service {
        AdmissionService { inner, layer: self.clone() }
    }
}

/// Passes requests on to a service when they are admitted.
pub struct AdmissionService<S, F, R = NeverFails> {
    inner: S,
    layer: AdmissionLayer<F, R>,
}

impl<S: Clone, F, R: Clone> Clone for AdmissionService<S, F, R> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S, F, R, Request> Service<Request> for AdmissionService<S, F, R>
where
    S: Service<Request> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
    F: Fn(&Request) -> Admission,
    R: Judge<S::Response>,
    Request: Send + 'static,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = ResponseFuture<S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(Error::Service)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Admission { options } = (self.layer.admission)(&request);
        let clone = self.inner.clone();
        // The one that is ready is called; the clone may have to become so first.
        let ready = mem::replace(&mut self.inner, clone);
        let answer = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&answer);
        let is_failure = self.layer.is_failure.clone();
        let call = Mutex::new(Some((ready, request)));
        let task = self.layer.wheel.task(move || {
            // It is never tried twice, so it is there.
            let call = lock(&call).take();
            let (kept, is_failure) = (Arc::clone(&kept), is_failure.clone());
            async move {
                let Some((mut service, request)) = call else { return Err(FAILED) };
                let result = service.call(request).await;
                let is_well = result.as_ref().is_ok_and(|answer| !is_failure.is_failure(answer));
                *lock(&kept) = Some(result);
                if is_well { Ok(()) } else { Err(FAILED) }
            }
        });
        let submission = task.options(options).at_most_once().submit();
        ResponseFuture { submission, answer }
    }
}

const FAILED: &str = "the service failed, or its answer counts as a failure";

type Answer<T, E> = Arc<Mutex<Option<Result<T, E>>>>;

/// The answer to a request, once it was admitted. Dropping it gives the request up.
#[must_use = "a request whose future is dropped is given up"]
pub struct ResponseFuture<T, E> {
    submission: Submission<()>,
    answer: Answer<T, E>,
}

impl<T, E> Future for ResponseFuture<T, E> {
    type Output = Result<T, Error<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = std::task::ready!(Pin::new(&mut self.submission).poll(context));
        let answer = lock(&self.answer).take();
        Poll::Ready(match (ended, answer) {
            (_, Some(Ok(answer))) => Ok(answer),
            (_, Some(Err(error))) => Err(Error::Service(error)),
            (Err(error), None) => Err(Error::Refused(Refusal::of(error))),
            (Ok(()), None) => unreachable!("a request that was answered has an answer"),
        })
    }
}

/// Nothing panics while it is held.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F, R> fmt::Debug for AdmissionLayer<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmissionLayer").field("wheel", &self.wheel).finish_non_exhaustive()
    }
}

impl<S, F, R> fmt::Debug for AdmissionService<S, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmissionService").field("layer", &self.layer).finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for FailsIf<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FailsIf")
    }
}

impl<T, E> fmt::Debug for ResponseFuture<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("task", &self.submission).finish_non_exhaustive()
    }
}

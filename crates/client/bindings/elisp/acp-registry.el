;;; acp-registry.el --- Client of `acp-registry rpc' -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "27.1"))

;;; Commentary:

;; Without dependencies.  `jsonrpc.el' is not used: it frames messages with headers, and `acp-registry rpc' with line ends.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(define-error 'acp-registry-error "A request to acp-registry failed")

(cl-defstruct acp-registry
  "A running `acp-registry rpc'."
  process (calls (make-hash-table)) (last 0) (rest ""))

(cl-defun acp-registry-start (&key (program "acp-registry") args)
  "Start PROGRAM with ARGS for the subcommand `rpc'."
  (let ((registry (make-acp-registry)) (log (generate-new-buffer " *acp-registry stderr*" t)))
    (setf (acp-registry-process registry)
          (make-process
           :name "acp-registry" :command `(,program "rpc" ,@args) :connection-type 'pipe :coding 'utf-8-unix
           :noquery t :stderr log
           :filter (lambda (_ text) (acp-registry--receive registry text))
           :sentinel (lambda (process _)
                       (unless (process-live-p process)
                         (acp-registry--end registry)
                         (kill-buffer log)))))
    (set-process-query-on-exit-flag (get-buffer-process log) nil)
    registry))

(cl-defun acp-registry-begin (registry method params callback &key on-event)
  "Send a request of METHOD with PARAMS, a plist, to REGISTRY.  Return its id.
CALLBACK is called with an error and a result, of which one is nil.
ON-EVENT is called with each event of its progress."
  (let ((id (cl-incf (acp-registry-last registry))))
    (puthash id (cons callback on-event) (acp-registry-calls registry))
    (acp-registry--send registry `(:id ,id :method ,method :params ,(or params (make-hash-table))))
    id))

(cl-defun acp-registry-request (registry method params &key on-event)
  "Like `acp-registry-begin', but wait for the result.
Signal `acp-registry-error' with the error of the request.  A quit cancels it."
  (let* (done failed result
         (id (acp-registry-begin registry method params
                                 (lambda (problem value) (setq done t failed problem result value))
                                 :on-event on-event)))
    (condition-case nil
        ;; Not of this process alone: once it has ended, that would return at once, and never call its sentinel.
        (while (not done) (accept-process-output nil 1))
      (quit (acp-registry-cancel registry id) (signal 'quit nil)))
    (when failed (signal 'acp-registry-error (list (plist-get failed :message) failed)))
    result))

(defun acp-registry-cancel (registry id)
  "Ask REGISTRY to cancel the request ID, which then fails with the code -32800."
  (acp-registry--send registry `(:method "$/cancel_request" :params (:requestId ,id))))

(defun acp-registry-close (registry)
  "Let requests of REGISTRY that only read finish, cancel all others, and end it."
  (process-send-eof (acp-registry-process registry)))

(defun acp-registry-launch (agent &rest options)
  "Start AGENT, an item of the result of `install'.  OPTIONS are for `make-process'.
It speaks the Agent Client Protocol on stdin and stdout."
  ;; Of equal variables, the first counts: those of the user have precedence.
  (let ((process-environment
         (append (when-let ((path (getenv "PATH")))
                   (list (concat "PATH=" (string-join (cons path (append (plist-get agent :path) nil)) path-separator))))
                 process-environment
                 (cl-loop for (name value) on (plist-get agent :env) by #'cddr
                          collect (format "%s=%s" (substring (symbol-name name) 1) value)))))
    (apply #'make-process :name (plist-get agent :id) :connection-type 'pipe :coding 'utf-8-unix
           :command (cons (plist-get agent :program) (append (plist-get agent :args) nil)) options)))

(defun acp-registry--send (registry message)
  "Send MESSAGE to REGISTRY, unless it has ended."
  (let ((process (acp-registry-process registry)))
    (if (process-live-p process)
        (process-send-string process (concat (json-serialize (append '(:jsonrpc "2.0") message)) "\n"))
      (acp-registry--end registry))))

(defun acp-registry--receive (registry text)
  "Handle TEXT, output of the process of REGISTRY."
  (let ((lines (split-string (concat (acp-registry-rest registry) text) "\n")))
    (setf (acp-registry-rest registry) (car (last lines)))
    (dolist (line (butlast lines))
      (let* ((message (json-parse-string line :object-type 'plist :null-object nil :false-object nil))
             (params (plist-get message :params))
             (id (or (plist-get params :requestId) (plist-get message :id)))
             (call (gethash id (acp-registry-calls registry))))
        (cond ((null id)
               ;; The answer to a line that could not be read, which may have been any request.
               (acp-registry--fail registry (plist-get message :error)))
              ((null call))
              (params (when (cdr call) (acp-registry--progress registry id (plist-get params :event))))
              (t (remhash id (acp-registry-calls registry))
                 (acp-registry--answer call (plist-get message :error) (plist-get message :result))))))))

(defun acp-registry--progress (registry id event)
  "Pass EVENT to the request ID of REGISTRY, which fails if that does."
  (let ((call (gethash id (acp-registry-calls registry))))
    (condition-case problem
        (funcall (cdr call) event)
      (error
       (remhash id (acp-registry-calls registry))
       (acp-registry-cancel registry id)
       (acp-registry--answer call (list :code -32603 :message (error-message-string problem)) nil)))))

(defun acp-registry--answer (call problem result)
  "Pass PROBLEM and RESULT to CALL, whose own errors must not take the answers of others with them."
  (condition-case mistake
      (funcall (car call) problem result)
    (error (display-warning 'acp-registry (error-message-string mistake) :error))))

(defun acp-registry--end (registry)
  "Fail all requests of REGISTRY, whose process has ended."
  (acp-registry--fail registry '(:code -32603 :message "acp-registry has ended")))

(defun acp-registry--fail (registry problem)
  "Fail all requests of REGISTRY with PROBLEM."
  (let ((calls (hash-table-values (acp-registry-calls registry))))
    (clrhash (acp-registry-calls registry))
    (dolist (call calls)
      (acp-registry--answer call problem nil))))

(provide 'acp-registry)
;;; acp-registry.el ends here

// A model's workspaces: a thread takes one, and returns it when done. Included only by the model's
// own source files.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "model.h"

namespace watchword {

class Model::Lease {
   public:
    explicit Lease(const Model& model) : model_(model) {
        const std::lock_guard guard(model.idle_mutex_);
        if (model.idle_.empty()) {
            workspace_ = std::make_unique<Workspace>();
        } else {
            workspace_ = std::move(model.idle_.back());
            model.idle_.pop_back();
        }
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
        workspace_->shrink();
        const std::lock_guard guard(model_.idle_mutex_);
        if (model_.idle_.size() < kMostIdle) model_.idle_.push_back(std::move(workspace_));
    }

    Workspace& get() { return *workspace_; }
    // A workspace whose memo fits the current model, which must be locked.
    Workspace& prepared() { return prepared(model_.corrections_ != nullptr); }
    // The same with the values that corrections are fitted around.
    Workspace& prepared_to_refine() { return prepared(true); }

   private:
    Workspace& prepared(bool refined) {
        workspace_->memo.prepare(*model_.counts_, model_.value_parameters(refined),
                                 model_.largest_values(refined), model_.memo_state(refined));
        return *workspace_;
    }

    static constexpr std::size_t kMostIdle = 16;

    const Model& model_;
    std::unique_ptr<Workspace> workspace_;
};

}  // namespace watchword
